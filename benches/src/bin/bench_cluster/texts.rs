//! What is asked: responses of 4 sentences against sources of 8, each of them unlike any other, so that no score is remembered.

use groundline::CheckRequest;

/// Sentences of a source.
const SOURCE_SENTENCES: usize = 8;
/// Which of them a response repeats.
const RESPONSE_SENTENCES: [usize; 4] = [0, 2, 5, 7];
/// No deadline ends a check of a measurement.
const DEADLINE_MS: u64 = 60_000;

/// Sentences as they stand in reports: names, numbers, dates, and words between.
fn sentence(number: u64, index: usize) -> String {
    let year = 1950 + number % 70;
    match index {
        0 => format!("The research station Halden {number} was opened in {year} by engineers from Lisbon. "),
        1 => format!(
            "Its first director, Ana Moreira, had spent a decade in the observatory of Uppsala {number}. "
        ),
        2 => format!(
            "The main building of Halden {number} has three floors and a library with a reading room. "
        ),
        3 => format!("Measurements of wind and rain have been published by station {number} every spring. "),
        4 => format!("A storm in March {} damaged the northern antenna of Halden {number}. ", year + 7),
        5 => format!("Repairs of station {number} took eleven weeks and cost about 240,000 euros. "),
        6 => format!("Visitors of Halden {number} can see the old instruments on the ground floor. "),
        _ => format!("The station {number} employs 46 people, most of whom live in the valley nearby. "),
    }
}

/// The source of a request.
fn source(number: u64) -> String {
    (0..SOURCE_SENTENCES).map(|index| sentence(number, index)).collect()
}

fn response(number: u64) -> String {
    RESPONSE_SENTENCES.into_iter().map(|index| sentence(number, index)).collect()
}

/// A request for the library.
pub(crate) fn request(number: u64) -> CheckRequest {
    let mut request = CheckRequest::new(response(number).as_str(), source(number).as_str());
    request.deadline_ms = Some(DEADLINE_MS);
    request
}

/// The same as a body of `POST /v1/check`.
pub(crate) fn body(number: u64) -> String {
    let (response, source) = (response(number), source(number));
    serde_json::json!({ "response": response, "source": source, "deadline_ms": DEADLINE_MS }).to_string()
}
