//! A comparison as Markdown.

use crate::output::push;
use groundline_evaluation::{Comparison, Interval};

/// The tables: by set, means, and the ensemble without a method.
pub(super) fn render(comparison: &Comparison) -> String {
    let mut out = String::new();
    let names = comparison.contenders.join(" | ");
    let rule = "---|".repeat(comparison.contenders.len());
    push(
        &mut out,
        format_args!(
            "AUC × 100\n\n| set | n | supported % | {names} | ECE | Brier |\n|---|---|---|{rule}---|---|\n"
        ),
    );
    for set in &comparison.sets {
        let share = 100.0 * set.supported as f64 / set.responses.max(1) as f64;
        let areas =
            set.auc.iter().map(|area| format!("{:.1}", 100.0 * area.value)).collect::<Vec<_>>().join(" | ");
        let (ece, brier) = (100.0 * set.calibration_error, set.brier);
        push(
            &mut out,
            format_args!(
                "| {} | {} | {share:.0} | {areas} | {ece:.1} | {brier:.3} |\n",
                set.name, set.responses
            ),
        );
    }
    let means = comparison.macro_auc.iter().map(|area| format!("**{:.1}**", 100.0 * area.value));
    let (means, error) = (means.collect::<Vec<_>>().join(" | "), 100.0 * comparison.macro_calibration_error);
    push(&mut out, format_args!("| **mean** | | | {means} | {error:.1} | |\n\n"));
    let count = comparison.sets.len();
    push(&mut out, format_args!("| mean over {count} sets | AUC × 100 | 95 % interval |\n|---|---|---|\n"));
    for (name, area) in comparison.contenders.iter().zip(&comparison.macro_auc) {
        push(&mut out, format_args!("| {name} | {}\n", interval(area)));
    }
    let gain = interval(&comparison.gain);
    push(&mut out, format_args!("| ensemble minus {}, paired | {gain}\n\n", comparison.best_input));
    out += "| ensemble without | AUC × 100 | ECE × 100 |\n|---|---|---|\n";
    for row in &comparison.without {
        let (area, error) = (100.0 * row.macro_auc, 100.0 * row.macro_calibration_error);
        push(&mut out, format_args!("| {} | {area:.1} | {error:.1} |\n", row.method));
    }
    let (draws, left_out) = (comparison.draws, comparison.left_out);
    push(
        &mut out,
        format_args!("\n{draws} draws, seed {}; {left_out} responses left out\n", comparison.seed),
    );
    out
}

fn interval(interval: &Interval) -> String {
    let Interval { value, low, high } = interval;
    format!("{:.1} | {:.1} to {:.1} |", 100.0 * value, 100.0 * low, 100.0 * high)
}
