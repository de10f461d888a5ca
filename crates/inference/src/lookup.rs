//! Tensors of a checkpoint by the names of its family.

use crate::checkpoint::TensorMap;
use crate::config_json::corrupt;
use crate::encoder::{LinearWeights, NormWeights};
use crate::tensor::Tensor;
use groundline_types::{Code, Problem};

/// Finds tensors whose names start with a prefix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lookup<'a> {
    pub(crate) tensors: &'a TensorMap,
    pub(crate) prefix: &'a str,
}

impl<'a> Lookup<'a> {
    /// With the first of `prefixes` under which there is a tensor `name`; the last where there is none.
    pub(crate) fn with_prefix_of(tensors: &'a TensorMap, name: &str, prefixes: &[&'a str]) -> Self {
        let found = prefixes.iter().find(|prefix| tensors.contains(&format!("{prefix}{name}")));
        let prefix = found.or(prefixes.last()).copied().unwrap_or_default();
        Self { tensors, prefix }
    }

    /// The same tensors without a prefix, for heads.
    pub(crate) fn bare(self) -> Self {
        Self { prefix: "", ..self }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.tensors.contains(&format!("{}{name}", self.prefix))
    }

    pub(crate) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, Problem> {
        self.tensors.tensor(&format!("{}{name}", self.prefix), shape)
    }

    /// `[out, in]`, with a bias where there is one.
    pub(crate) fn linear(&self, name: &str, out: usize, input: usize) -> Result<LinearWeights, Problem> {
        let bias = format!("{name}.bias");
        Ok(LinearWeights {
            weight: self.tensor(&format!("{name}.weight"), &[out, input])?,
            bias: self.contains(&bias).then(|| self.tensor(&bias, &[out])).transpose()?,
        })
    }

    /// A gain, and an offset where there is one.
    pub(crate) fn norm(&self, name: &str, width: usize) -> Result<NormWeights, Problem> {
        let bias = format!("{name}.bias");
        Ok(NormWeights {
            weight: self.tensor(&format!("{name}.weight"), &[width])?,
            bias: if self.contains(&bias) {
                self.tensor(&bias, &[width])?
            } else {
                owned(&vec![0.0; width], &[width])?
            },
        })
    }

    /// Rows of the last layer of a head: as many as there are labels, where any are named.
    pub(crate) fn head_rows(&self, name: &str, label_names: &[String]) -> Result<usize, Problem> {
        let weight = format!("{}{name}.weight", self.prefix);
        let Some(found) = self.tensors.shape(&weight).and_then(|shape| shape.first().copied()) else {
            return Err(Problem::new(
                Code::MODEL_UNSUPPORTED,
                format!(
                    "the checkpoint has no {weight}: it is an encoder or language model without a head; take one that was \
                     fine-tuned on NLI or fact verification"
                ),
            ));
        };
        let named = label_names.len();
        if named != 0 && named != found {
            return Err(corrupt(format!(
                "tensor {weight} has {found} rows, and there are {named} label names"
            )));
        }
        Ok(found)
    }
}

/// A tensor of given numbers.
pub(crate) fn owned(values: &[f32], shape: &[usize]) -> Result<Tensor, Problem> {
    Tensor::from_f32(values, shape.to_vec())
        .ok_or_else(|| Problem::new(Code::INTERNAL, "a tensor was made with another size than its shape"))
}
