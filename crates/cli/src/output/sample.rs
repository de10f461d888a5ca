//! Results by hand, for tests.

use groundline_types::CheckResult;

/// A result with every kind of sentence, and hostile text in it.
pub(crate) const RESULT: &str = r#"{
  "id": "curie\u001b[31m", "schema": "groundline.check/1", "status": "partial", "verdict": "contradicted",
  "action": "block", "alert": true, "coverage": 0.75, "calibrated": false, "config_hash": "c",
  "scores": {"min": 0.02, "mean": 0.5, "weighted": 0.4, "summac": null, "summac_zs": null, "summac_conv": null, "ensemble": null},
  "model": {"name": "mini", "revision": "r", "engine": "toy"},
  "sentences": [
    {"text": "Marie Curie was born in Warsaw.", "start": 0, "end": 31, "status": "scored", "verdict": "supported",
     "support_probability": 0.984, "contradiction_probability": 0.01, "neutral_probability": 0.006, "weight": 2,
     "tags": ["name"], "reason": "entailed", "facts": [], "evidence": [
       {"source": "bio.txt", "start": 0, "end": 34, "text": "Marie Curie was born in Warsaw\u202e in 1867.",
        "support_probability": 0.984, "contradiction_probability": 0.01, "neutral_probability": 0.006}]},
    {"text": "She won the Nobel Prize in Physics in 1905 together with her husband Pierre and Henri Becquerel.",
     "start": 32, "end": 70, "status": "scored", "verdict": "contradicted",
     "support_probability": 0.02, "contradiction_probability": 0.9, "neutral_probability": 0.08, "weight": 2,
     "tags": ["date"], "reason": "numeric", "detail": "1905 is not 1903", "facts": [], "evidence": [
       {"source": "bio.txt", "start": 35, "end": 80, "text": "The Nobel Prize in Physics of 1903 went to them.",
        "support_probability": 0.02, "contradiction_probability": 0.9, "neutral_probability": 0.08}]},
    {"text": "She liked tea.", "start": 71, "end": 85, "status": "scored", "verdict": "not_mentioned",
     "support_probability": 0.1, "contradiction_probability": 0.1, "neutral_probability": 0.8, "weight": 1,
     "tags": [], "reason": "no_evidence", "evidence": [], "facts": [
       {"text": "She liked tea.", "start": 71, "end": 85, "status": "scored", "verdict": "not_mentioned",
        "support_probability": 0.1, "contradiction_probability": 0.1, "neutral_probability": 0.8,
        "reason": "no_evidence", "evidence": []}]},
    {"text": "Anything else?", "start": 86, "end": 100, "status": "abstained", "verdict": null,
     "support_probability": null, "contradiction_probability": null, "neutral_probability": null, "weight": 1,
     "tags": [], "reason": "not_a_claim", "evidence": [], "facts": []},
    {"text": "She was happy.", "start": 101, "end": 115, "status": "failed", "verdict": null,
     "support_probability": null, "contradiction_probability": null, "neutral_probability": null, "weight": 1,
     "tags": [], "reason": "unchecked", "detail": "the deadline passed", "evidence": [], "facts": []}],
  "methods": {},
  "notes": [{"code": "GL2002", "message": "the deadline passed before every claim was checked", "where": "response"}],
  "usage": {"pairs": 24, "embeddings": 0, "cache_hits": 0, "judge_tokens": 0},
  "timings": {"prepare_ms": 1, "score_ms": 800, "total_ms": 812},
  "matrix": {"rows": [{"source": "bio.txt", "start": 0, "end": 34, "text": "Marie Curie was born in Warsaw."},
                      {"source": "bio.txt", "start": 35, "end": 80, "text": "The Nobel Prize."}],
    "columns": [0, 1, 2], "entailment": [[0.98, 0.01, 0.1], [0.03, 0.02, null]],
    "contradiction": [[0.01, 0.2, 0.1], [0.04, 0.9, null]], "neutral": [[0.01, 0.79, 0.8], [0.93, 0.08, null]]}
}"#;

/// The result of a JSON text.
pub(crate) fn result(text: &str) -> CheckResult {
    serde_json::from_str(text).unwrap()
}
