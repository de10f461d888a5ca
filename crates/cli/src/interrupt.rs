//! Ctrl-C: once to finish with what is done, twice to end at once.

use crate::failure::EXIT_INTERRUPTED;
use groundline_types::{Code, Problem};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// Whether Ctrl-C was pressed.
#[derive(Debug, Clone)]
pub(crate) struct Interrupts {
    pressed: watch::Receiver<bool>,
}

impl Interrupts {
    /// Listens on a thread of its own, so that a second Ctrl-C ends the process whatever the rest of it does.
    pub(crate) fn listen(runtime: &Handle) -> Result<Self, Problem> {
        let (sender, pressed) = watch::channel(false);
        let runtime = runtime.clone();
        let listen = move || {
            runtime.block_on(async {
                if tokio::signal::ctrl_c().await.is_ok() {
                    sender.send_replace(true);
                    if tokio::signal::ctrl_c().await.is_ok() {
                        std::process::exit(i32::from(EXIT_INTERRUPTED));
                    }
                }
                // Without a handler Ctrl-C ends the process, which is right, too.
                std::future::pending::<()>().await;
            });
        };
        let thread = std::thread::Builder::new().name("groundline-signals".to_owned()).spawn(listen);
        thread.map_err(|error| {
            Problem::new(Code::INTERNAL, format!("cannot start the thread for signals: {error}"))
        })?;
        Ok(Self { pressed })
    }

    /// Waits until it is pressed.
    pub(crate) async fn wait(&mut self) {
        if self.pressed.wait_for(|pressed| *pressed).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
