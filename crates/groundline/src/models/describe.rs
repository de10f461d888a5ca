//! What a model folder says of itself, without loading its weights.

use groundline_types::{Code, Problem};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What a model folder says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelDetails {
    /// Its kind, such as `deberta-v2`.
    pub model_type: String,
    /// Label names in logit order; empty where the checkpoint has none.
    pub labels: Vec<String>,
    /// The authors' revision in `groundline.json`, where there is one. Results carry a hash over the files instead.
    pub revision: Option<String>,
    /// Bytes of all its files.
    pub size_bytes: u64,
}

#[derive(Deserialize)]
struct ConfigFile {
    #[serde(default)]
    model_type: String,
    #[serde(default)]
    id2label: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
struct GroundlineFile {
    revision: Option<String>,
}

/// Reads the small files of a model folder.
///
/// # Errors
/// [`Code::MODEL_CORRUPT`] where `config.json` is malformed or cannot be read.
pub fn describe_model(folder: &Path) -> Result<ModelDetails, Problem> {
    let corrupt =
        |what: &str| Problem::new(Code::MODEL_CORRUPT, format!("config.json in {} {what}", folder.display()));
    let text = std::fs::read(folder.join("config.json"))
        .map_err(|error| corrupt(&format!("cannot be read: {error}")))?;
    // By way of a map: a struct would also be read from a list.
    let config = serde_json::from_slice::<serde_json::Map<_, _>>(&text)
        .and_then(|fields| serde_json::from_value::<ConfigFile>(fields.into()))
        .map_err(|_| corrupt("is not a model's configuration"))?;
    // Keys are numbers in quotes: "10" stands after "9".
    let mut labels = config.id2label.into_iter().collect::<Vec<_>>();
    labels.sort_by_key(|(index, _)| index.parse::<usize>().unwrap_or(usize::MAX));
    let groundline: GroundlineFile = std::fs::read(folder.join("groundline.json"))
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // The size of what a link points to: models are often links into a cache.
    let sizes = entries.filter_map(|entry| std::fs::metadata(entry.path()).ok());
    let size_bytes = sizes.filter(std::fs::Metadata::is_file).map(|metadata| metadata.len()).sum();
    let labels = labels.into_iter().map(|(_, label)| label).collect();
    Ok(ModelDetails { model_type: config.model_type, labels, revision: groundline.revision, size_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_in_logit_order_and_every_file_counts() {
        let folder = tempfile::tempdir().unwrap();
        let labels = (0..11).map(|i| format!("\"{i}\":\"label{i}\"")).collect::<Vec<_>>().join(",");
        let config = format!("{{\"model_type\":\"deberta-v2\",\"id2label\":{{{labels}}},\"hidden_size\":3}}");
        std::fs::write(folder.path().join("config.json"), &config).unwrap();
        std::fs::write(folder.path().join("weights"), [0; 100]).unwrap();
        let details = describe_model(folder.path()).unwrap();
        assert_eq!((details.model_type.as_str(), details.labels[9].as_str()), ("deberta-v2", "label9"));
        assert_eq!(details.labels[10], "label10");
        assert_eq!(details.size_bytes, config.len() as u64 + 100);
        assert_eq!(details.revision, None);
    }

    #[test]
    fn a_folder_that_is_no_model_is_corrupt() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(describe_model(folder.path()).unwrap_err().code, Code::MODEL_CORRUPT);
        std::fs::write(folder.path().join("config.json"), "[]").unwrap();
        assert_eq!(describe_model(folder.path()).unwrap_err().code, Code::MODEL_CORRUPT);
    }
}
