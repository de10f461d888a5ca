//! A hash of every setting that can change a result.

use crate::Config;
use groundline_inference::PrecisionChoice;
use groundline_types::{Code, ModelFacts, Problem};
use groundline_verdict::ensemble::EnsembleUse;

/// Hexadecimal digits of a configuration's hash.
const DIGITS: usize = 16;

/// Settings of methods that came later, with the values by which they change nothing: there they leave the hash as it was.
const LATER: [&str; 2] = ["\"candidate_sentences\":0,", ",\"nli_premise\":\"sentence\""];

/// The hash that results carry as `config_hash`: equal hashes and equal requests give equal results. It covers the model's
/// revision and labels, its baseline of similarity where it has one, the windows, a precision that is not single, and the sections `detectors`, `verdict`, `policies` and `limits`, the weights of the ensemble
/// where there is one, and where there is a judge, which one and how it is asked; not how results are computed or shown.
pub(crate) fn config_hash(
    config: &Config,
    facts: &ModelFacts,
    ensemble: &EnsembleUse,
) -> Result<String, Problem> {
    let internal = |error: serde_json::Error| {
        Problem::new(Code::INTERNAL, format!("cannot hash the configuration: {error}"))
    };
    let mut hasher = blake3::Hasher::new();
    let mut field = |name: &str, value: &[u8]| {
        // Lengths keep fields apart.
        for part in [name.as_bytes(), value] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    };
    field("revision", facts.id.revision.as_bytes());
    field("labels", format!("{:?}", facts.labels).as_bytes());
    field("window_tokens", &(facts.window_tokens as u64).to_le_bytes());
    let mut detectors = serde_json::to_string(&config.detectors).map_err(internal)?;
    for setting in LATER {
        detectors = detectors.replace(setting, "");
    }
    field("detectors", detectors.as_bytes());
    field("verdict", &serde_json::to_vec(&config.verdict).map_err(internal)?);
    if !config.policies.is_empty() {
        field("policies", &serde_json::to_vec(&config.policies).map_err(internal)?);
    }
    if config.judge.is_on() {
        let judge = &config.judge;
        let place = (&judge.base_url, &judge.model, &judge.extra_body, &judge.capabilities);
        let manner = (&judge.verdict, &judge.selfcheck, &judge.sampling, judge.max_input_bytes);
        field("judge", &serde_json::to_vec(&(place, manner)).map_err(internal)?);
    }
    if config.engine.precision != PrecisionChoice::F32 {
        field("precision", &serde_json::to_vec(&config.engine.precision).map_err(internal)?);
    }
    if let Some(baseline) = facts.similarity_baseline {
        field("similarity_baseline", &baseline.to_le_bytes());
    }
    if let EnsembleUse::On(ensemble) = ensemble {
        field("ensemble", &serde_json::to_vec(ensemble.profile()).map_err(internal)?);
    }
    field("limits", &serde_json::to_vec(&config.limits).map_err(internal)?);
    Ok(hasher.finalize().to_hex().chars().take(DIGITS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_inference::Engine;
    use groundline_testkit::{ToyEngine, ToyHooks};

    #[test]
    fn the_hash_follows_what_changes_results_and_nothing_else() {
        let engine = ToyEngine::new(ToyHooks::default());
        let hash = |config: &Config| config_hash(config, engine.facts(), &EnsembleUse::Off).unwrap();
        let (mut config, base) = (Config::default(), hash(&Config::default()));
        assert_eq!(base.len(), DIGITS);
        config.engine.threads = 7;
        config.output.evidence = 3;
        config.cache.bytes = 1;
        assert_eq!(hash(&config), base);
        config.engine.precision = PrecisionChoice::Auto;
        assert_ne!(hash(&config), base);
        config.engine.precision = PrecisionChoice::F32;
        config.verdict.support_threshold = 0.6;
        assert_ne!(hash(&config), base);
        let mut fewer = Config::default();
        fewer.detectors.candidate_sentences = 8;
        let eight = hash(&fewer);
        fewer.detectors.candidate_sentences = 16;
        assert!(eight != base && eight != hash(&fewer) && hash(&fewer) != base);
        let detectors = serde_json::to_string(&Config::default().detectors).unwrap();
        assert!(LATER.iter().all(|setting| detectors.contains(setting)), "{detectors}");
        let mut turned = Config::default();
        turned.detectors.selfcheck.nli_premise = groundline_detectors::NliPremise::Sample;
        assert_ne!(hash(&turned), base);
        let toy = || ToyEngine::new(ToyHooks::default());
        let others = [
            toy().with_facts(|facts| facts.window_tokens += 1),
            toy().with_facts(|facts| facts.similarity_baseline = Some(0.2)),
        ];
        for other in others {
            assert_ne!(config_hash(&Config::default(), other.facts(), &EnsembleUse::Off).unwrap(), base);
        }
    }
}
