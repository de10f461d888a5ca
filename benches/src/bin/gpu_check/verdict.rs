//! What was measured against what is wanted: at least three times transformers' fp16 on mixed lengths, and 35 % of the roofline at the
//! first measurement, 50 % after tuning.

use serde_json::{Value, json};

const WANTED_RATIO: f64 = 3.0;
const WANTED_FIRST: f64 = 0.35;
const WANTED_TUNED: f64 = 0.5;
/// The shape and lengths that the roofline is wanted for.
const ROOFLINE: &str = "large 128";
/// Ways in which the peer computes attention.
const ATTENTIONS: [&str; 2] = ["eager", "sdpa"];

/// Ratios and judgements; where something was not measured, that is said in place of a judgement.
pub(crate) fn verdict(findings: &Value) -> Value {
    let (ours, peers) = (&findings["throughput"], &findings["peers"]);
    let mut ratios = json!({});
    let measured = ours.as_object().into_iter().flatten();
    for (name, figures) in measured {
        let Some(pairs) = figures["pairs_per_second"].as_f64() else { continue };
        let theirs = ATTENTIONS
            .iter()
            .filter_map(|attention| Some((*attention, peers[format!("{name} {attention}")].as_f64()?)));
        // The faster of its ways is what one would use.
        let Some((attention, theirs)) = theirs.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let ratio = if theirs > 0.0 { (pairs / theirs).into() } else { Value::Null };
        ratios[name] =
            json!({ "ours": pairs, "transformers": theirs, "attention": attention, "ratio": ratio });
    }
    let mixed = ratios.as_object().into_iter().flatten().filter(|(name, _)| name.ends_with(" mixed"));
    let mixed: Vec<f64> = mixed.filter_map(|(_, ratio)| ratio["ratio"].as_f64()).collect();
    let least = mixed.iter().copied().fold(f64::INFINITY, f64::min);
    let share = ours[ROOFLINE]["of_roofline"].as_f64();
    let reaches =
        |wanted: f64| share.map_or(json!("not judged: no share was measured"), |it| (it >= wanted).into());
    json!({
        "against_transformers": ratios,
        "three_times_transformers_on_mixed_lengths": if mixed.is_empty() {
            json!("not judged: transformers was not measured")
        } else {
            json!({ "least_ratio": least, "is_met": least >= WANTED_RATIO })
        },
        "roofline_of_large_at_128": {
            "share": share, "at_least_35_percent": reaches(WANTED_FIRST), "at_least_50_percent": reaches(WANTED_TUNED),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_to_the_faster_way_and_the_least_decides() {
        let findings = json!({
            "throughput": {
                "large 128": { "pairs_per_second": 900.0, "of_roofline": 0.4 },
                "large mixed": { "pairs_per_second": 900.0, "of_roofline": 0.3 },
                "mini mixed": { "pairs_per_second": 8000.0 },
            },
            "peers": { "torch": "2", "large mixed eager": 200, "large mixed sdpa": 250, "mini mixed eager": 4000,
                       "large sdpa": "not measured: x" },
        });
        let found = verdict(&findings);
        assert_eq!(found["against_transformers"]["large mixed"]["ratio"], 3.6);
        assert_eq!(found["against_transformers"]["large mixed"]["attention"], "sdpa");
        assert!(found["against_transformers"].get("large 128").is_none());
        let mixed = &found["three_times_transformers_on_mixed_lengths"];
        assert!(mixed["least_ratio"] == 2.0 && mixed["is_met"] == false, "{mixed}");
        let roofline = &found["roofline_of_large_at_128"];
        assert!(roofline["at_least_35_percent"] == true && roofline["at_least_50_percent"] == false);
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let findings = json!({ "throughput": { "timed_out_after_seconds": 80 }, "peers": { "not_measured": "no torch" } });
        let found = verdict(&findings);
        assert!(found["three_times_transformers_on_mixed_lengths"].is_string(), "{found}");
        assert!(found["roofline_of_large_at_128"]["at_least_35_percent"].is_string(), "{found}");
    }
}
