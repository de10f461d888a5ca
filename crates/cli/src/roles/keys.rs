//! `groundline keys`: API keys of the gateway.

use crate::args::KeysCommand;
use crate::failure::{EXIT_OK, Failure};
use crate::output::Sink;
use groundline_gateway::new_key;

/// Makes a key and prints it with its entry for the file of keys.
pub(crate) fn run(command: &KeysCommand, sink: &mut Sink) -> Result<u8, Failure> {
    let KeysCommand::New { tenant } = command;
    let key = new_key()?;
    // Written as TOML writes texts, so that no name can break out of its quotes.
    let tenant = toml_text(tenant);
    let id = &key.sha256[..8];
    let sha256 = &key.sha256;
    sink.write(&format!(
        "# The key, for its holder alone; it is not kept anywhere:\n# {}\n\n\
         # For the file that gateway.keys_file names:\n\
         [[keys]]\nid = \"{id}\"\nsha256 = \"{sha256}\"\ntenant = {tenant}\n",
        key.key
    ))?;
    Ok(EXIT_OK)
}

/// JSON's escapes are a subset of those of TOML's basic strings.
fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
