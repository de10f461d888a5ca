use super::*;
use std::collections::BTreeSet;

/// Units of the inventory, each with the suffix that Prometheus' naming rules ask for.
const SUFFIXES: &[(&str, &str)] =
    &[("s", "_seconds"), ("{token}", "_tokens"), ("{item}", "_items"), ("{job}", "_jobs")];

fn base(metric: &Metric) -> &'static str {
    metric.name.strip_suffix("_total").unwrap_or(metric.name)
}

#[test]
fn names_are_unique_and_follow_the_conventions_of_prometheus() {
    let mut names = BTreeSet::new();
    for metric in INVENTORY {
        assert!(names.insert(metric.name), "{} is there twice", metric.name);
        assert!(metric.name.starts_with("groundline_"), "{}", metric.name);
        assert!(metric.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", metric.name);
        let is_counter = metric.kind == MetricKind::Counter;
        assert_eq!(metric.name.ends_with("_total"), is_counter, "{}", metric.name);
        for reserved in ["_count", "_sum", "_bucket", "_info"] {
            assert!(!metric.name.ends_with(reserved), "{} ends like a part of a histogram", metric.name);
        }
        if metric.kind != MetricKind::Counter
            && let Some((_, suffix)) = SUFFIXES.iter().find(|(unit, _)| *unit == metric.unit)
        {
            assert!(base(metric).ends_with(suffix), "{} is in {}", metric.name, metric.unit);
        }
        assert!(metric.unit != "s" || base(metric).ends_with("_seconds"), "{}", metric.name);
    }
}

#[test]
fn every_label_has_a_closed_list_of_values() {
    for metric in INVENTORY {
        assert!(metric.labels.len() <= 3, "{} has too many labels", metric.name);
        for label in metric.labels {
            assert!(
                label.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
                "{}",
                label.name
            );
            assert!(
                !["le", "quantile", "job", "instance"].contains(&label.name),
                "{} is Prometheus' own",
                label.name
            );
            if let LabelValues::OneOf(values) = label.values {
                assert!((2..=32).contains(&values.len()), "{} of {}", label.name, metric.name);
                assert_eq!(values.iter().collect::<BTreeSet<_>>().len(), values.len());
            }
        }
    }
}

#[test]
fn no_metric_has_more_time_series_than_a_server_bears() {
    for metric in INVENTORY {
        let values = |label: &Label| match label.values {
            LabelValues::OneOf(values) => values.len(),
            LabelValues::Code => groundline_types::Code::ALL.len(),
            LabelValues::Tenant => crate::TelemetryOptions::default().tenant_labels + 1,
        };
        let series = metric.labels.iter().map(values).product::<usize>();
        assert!(series <= 400, "{} may have {series} time series", metric.name);
    }
}

#[test]
fn every_metric_is_explained() {
    for metric in INVENTORY {
        assert!(metric.help.len() > 15 && !metric.help.ends_with('.'), "{}", metric.name);
    }
}
