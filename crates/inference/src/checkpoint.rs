//! A checkpoint in a Hugging Face folder: its files, and its tensors by name.

use crate::groundline_file::GroundlineFile;
use crate::mapped::{map_file, read_file, unreadable};
use crate::tensor::{Dtype, Tensor};
use groundline_types::{Code, Problem};
use memmap2::Mmap;
use safetensors::tensor::SafeTensors;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
const GROUNDLINE: &str = "groundline.json";
const WEIGHTS: &str = "model.safetensors";
const WEIGHTS_INDEX: &str = "model.safetensors.index.json";
const SUPPORT_HEAD: &str = "support_head.safetensors";
/// How to convert a checkpoint of pickled weights.
const CONVERT_WEIGHTS: &str = "convert it once with transformers: AutoModelForSequenceClassification.from_pretrained(folder)\
                               .save_pretrained(folder, safe_serialization=True)";
/// How to make a tokenizer.json from a SentencePiece model.
const CONVERT_TOKENIZER: &str = "make it once with transformers: AutoTokenizer.from_pretrained(folder, use_fast=True).save_pretrained(folder)";

/// A folder that holds a checkpoint, its small files read and its weights mapped.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    /// Where it lies.
    pub(crate) folder: PathBuf,
    /// `config.json`.
    pub(crate) config: Vec<u8>,
    /// `tokenizer.json`.
    pub(crate) tokenizer: Vec<u8>,
    /// `model_max_length` of `tokenizer_config.json`, where it is a sensible number.
    pub(crate) tokenizer_max_tokens: Option<usize>,
    /// `groundline.json`, or its defaults.
    pub(crate) groundline: GroundlineFile,
    /// Tensors of the encoder and the NLI head.
    pub(crate) weights: TensorMap,
    /// Tensors of the support head, where there is one.
    pub(crate) support: Option<TensorMap>,
    groundline_bytes: Option<Vec<u8>>,
}

/// A file of a model and its size.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ModelFile {
    /// Name inside the model folder.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
}

impl Checkpoint {
    /// Opens `folder` without reading any number of the weights.
    pub(crate) fn open(folder: &Path) -> Result<Self, Problem> {
        let config = read_config(folder)?;
        let groundline_bytes = read_file(&folder.join(GROUNDLINE))?;
        let groundline = match &groundline_bytes {
            Some(bytes) => GroundlineFile::parse(bytes)?,
            None => GroundlineFile::default(),
        };
        let weights = open_weights(folder, groundline.heads.nli.as_deref())?;
        let tokenizer = read_tokenizer(folder)?;
        let tokenizer_max_tokens =
            read_file(&folder.join(TOKENIZER_CONFIG))?.and_then(|bytes| model_max_length(&bytes));
        let support = open_support(folder, groundline.heads.support.as_deref())?;
        let folder = folder.to_owned();
        Ok(Self {
            folder,
            config,
            tokenizer,
            tokenizer_max_tokens,
            groundline,
            weights,
            support,
            groundline_bytes,
        })
    }

    /// First 16 hexadecimal digits of BLAKE3 over every file that scores depend on, each with its role and length.
    pub(crate) fn revision(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |role: &str, bytes: &[u8]| {
            hasher.update(role.as_bytes());
            hasher.update(&[0]);
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(CONFIG, &self.config);
        add(TOKENIZER, &self.tokenizer);
        add(GROUNDLINE, self.groundline_bytes.as_deref().unwrap_or_default());
        for (name, map) in self.weights.files.iter().chain(self.support.iter().flat_map(|map| &map.files)) {
            add(name, map);
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// The files in use and their sizes, in the order of a listing.
    pub(crate) fn files(&self) -> Vec<ModelFile> {
        let file = |name: &str, size: usize| ModelFile { name: name.to_owned(), size_bytes: size as u64 };
        let mut files = vec![file(CONFIG, self.config.len()), file(TOKENIZER, self.tokenizer.len())];
        files.extend(self.groundline_bytes.as_ref().map(|bytes| file(GROUNDLINE, bytes.len())));
        let maps = [Some(&self.weights), self.support.as_ref()];
        let weights = maps.into_iter().flatten().flat_map(|tensors| &tensors.files);
        files.extend(weights.map(|(name, map)| file(name, map.len())));
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files
    }
}

/// Tensors of one or several safetensors files by name.
#[derive(Debug, Default)]
pub(crate) struct TensorMap {
    tensors: BTreeMap<String, Entry>,
    files: Vec<(String, Arc<Mmap>)>,
}

#[derive(Debug)]
struct Entry {
    file: usize,
    bytes: Range<usize>,
    dtype: safetensors::Dtype,
    shape: Vec<usize>,
}

impl TensorMap {
    /// Adds every tensor of one file.
    fn add_file(&mut self, folder: &Path, name: &str) -> Result<(), Problem> {
        let map = map_file(&folder.join(name))?;
        let (header, metadata) =
            SafeTensors::read_metadata(&map).map_err(|error| malformed(name, &map, &error))?;
        let data = header + size_of::<u64>();
        let file = self.files.len();
        for (tensor, info) in metadata.tensors() {
            let (start, end) = info.data_offsets;
            let (dtype, shape) = (info.dtype, info.shape.clone());
            self.tensors.insert(tensor, Entry { file, bytes: data + start..data + end, dtype, shape });
        }
        self.files.push((name.to_owned(), map));
        Ok(())
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The shape of a tensor, where it is there.
    pub(crate) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|entry| entry.shape.as_slice())
    }

    /// A tensor of the shape that the configuration asks for.
    pub(crate) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, Problem> {
        let corrupt = |message: String| Problem::new(Code::MODEL_CORRUPT, message);
        let entry = self.tensors.get(name).ok_or_else(|| {
            corrupt(format!(
                "tensor {name} is missing from {}; config.json describes another model than these weights, or the \
                 download is incomplete",
                self.file_names()
            ))
        })?;
        if entry.shape != shape {
            return Err(corrupt(format!(
                "tensor {name} has shape {:?}, and config.json asks for {shape:?}; weights and config.json belong to \
                 different models",
                entry.shape
            )));
        }
        let dtype = match entry.dtype {
            safetensors::Dtype::F32 => Dtype::F32,
            safetensors::Dtype::F16 => Dtype::F16,
            safetensors::Dtype::BF16 => Dtype::Bf16,
            other => {
                return Err(Problem::new(
                    Code::MODEL_UNSUPPORTED,
                    format!("tensor {name} is stored as {other:?}; store the weights as F32, F16 or BF16"),
                ));
            }
        };
        let map = Arc::clone(&self.files[entry.file].1);
        Tensor::mapped(map, entry.bytes.clone(), dtype, shape.to_vec())
            .ok_or_else(|| corrupt(format!("tensor {name} does not fill its {:?} bytes", entry.bytes.len())))
    }

    /// Numbers in all tensors.
    pub(crate) fn parameters(&self) -> u64 {
        self.tensors.values().map(|entry| entry.shape.iter().map(|&size| size as u64).product::<u64>()).sum()
    }

    /// The kinds of numbers that the tensors are stored as, such as `F16`.
    pub(crate) fn dtypes(&self) -> BTreeSet<String> {
        self.tensors.values().map(|entry| format!("{:?}", entry.dtype)).collect()
    }

    fn file_names(&self) -> String {
        self.files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

fn read_config(folder: &Path) -> Result<Vec<u8>, Problem> {
    let not_found = |what: String| {
        Problem::new(
            Code::MODEL_NOT_FOUND,
            format!(
                "{what}; give the folder of a Hugging Face checkpoint, which holds config.json, tokenizer.json and \
                 model.safetensors"
            ),
        )
    };
    match std::fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(not_found(format!("{} is a file, not a folder", folder.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(not_found(format!("there is no folder {}", folder.display())));
        }
        Err(error) => return Err(unreadable(folder, &error)),
    }
    read_file(&folder.join(CONFIG))?
        .ok_or_else(|| not_found(format!("there is no config.json in {}", folder.display())))
}

fn is_there(path: &Path) -> Result<bool, Problem> {
    path.try_exists().map_err(|error| unreadable(path, &error))
}

fn read_tokenizer(folder: &Path) -> Result<Vec<u8>, Problem> {
    if let Some(bytes) = read_file(&folder.join(TOKENIZER))? {
        return Ok(bytes);
    }
    let found = if is_there(&folder.join("spm.model"))? { "only spm.model" } else { "no tokenizer.json" };
    Err(Problem::new(
        Code::TOKENIZER_CORRUPT,
        format!(
            "there is {found} in {}, and a tokenizer.json is needed; {CONVERT_TOKENIZER}",
            folder.display()
        ),
    ))
}

/// `model_max_length`, which is a huge float where the authors set none.
fn model_max_length(bytes: &[u8]) -> Option<usize> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let tokens = value.get("model_max_length")?.as_u64()?;
    usize::try_from(tokens).ok().filter(|&tokens| tokens > 0)
}

fn open_support(folder: &Path, named: Option<&str>) -> Result<Option<TensorMap>, Problem> {
    let name = named.unwrap_or(SUPPORT_HEAD);
    if named.is_none() && !is_there(&folder.join(name))? {
        return Ok(None);
    }
    check_plain(name, GROUNDLINE)?;
    let mut tensors = TensorMap::default();
    tensors.add_file(folder, name)?;
    Ok(Some(tensors))
}

fn open_weights(folder: &Path, named: Option<&str>) -> Result<TensorMap, Problem> {
    let single = named.unwrap_or(WEIGHTS);
    check_plain(single, GROUNDLINE)?;
    let mut tensors = TensorMap::default();
    if is_there(&folder.join(single))? {
        tensors.add_file(folder, single)?;
        return Ok(tensors);
    }
    let Some(index) = read_file(&folder.join(WEIGHTS_INDEX))? else {
        return Err(no_weights(folder, single)?);
    };
    for shard in shards(&index)? {
        if !is_there(&folder.join(&shard))? {
            return Err(Problem::new(
                Code::MODEL_CORRUPT,
                format!(
                    "{WEIGHTS_INDEX} names {shard}, which is not in {}; download it too",
                    folder.display()
                ),
            ));
        }
        tensors.add_file(folder, &shard)?;
    }
    Ok(tensors)
}

/// Names of the files that an index spreads the tensors over.
fn shards(index: &[u8]) -> Result<BTreeSet<String>, Problem> {
    #[derive(serde::Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, String>,
    }
    let index: Index = serde_json::from_slice(index).map_err(|error| {
        Problem::new(Code::MODEL_CORRUPT, format!("{WEIGHTS_INDEX} is malformed: {error}; download it again"))
    })?;
    let shards: BTreeSet<String> = index.weight_map.into_values().collect();
    shards.iter().try_for_each(|shard| check_plain(shard, WEIGHTS_INDEX))?;
    Ok(shards)
}

/// Refuses a name that leads out of the folder.
fn check_plain(name: &str, named_by: &str) -> Result<(), Problem> {
    if Path::new(name).file_name().is_some_and(|plain| plain == name) {
        return Ok(());
    }
    let message =
        format!("{named_by} names the file {name:?}; only names of files in the same folder are read");
    Err(Problem::new(Code::MODEL_CORRUPT, message))
}

fn no_weights(folder: &Path, expected: &str) -> Result<Problem, Problem> {
    let listing = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let pickled: BTreeSet<String> = listing
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| {
            [".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx"].iter().any(|end| name.ends_with(end))
        })
        .collect();
    Ok(match pickled.first() {
        Some(found) => Problem::new(
            Code::MODEL_UNSUPPORTED,
            format!(
                "{} holds its weights in {found}, and only safetensors are read; {CONVERT_WEIGHTS}",
                folder.display()
            ),
        ),
        None => Problem::new(
            Code::MODEL_CORRUPT,
            format!(
                "there is neither {expected} nor {WEIGHTS_INDEX} in {}; download the weights",
                folder.display()
            ),
        ),
    })
}

fn malformed(name: &str, bytes: &[u8], error: &safetensors::SafeTensorError) -> Problem {
    let message = if bytes.starts_with(b"version https://git-lfs") {
        format!("{name} is a Git LFS pointer and not the weights; run `git lfs pull` in the model folder")
    } else {
        format!(
            "{name} ({} bytes) is truncated or not a safetensors file: {error}; download it again",
            bytes.len()
        )
    };
    Problem::new(Code::MODEL_CORRUPT, message)
}
