use super::*;
use groundline_types::Limits;
use std::fs;

const GOOD: &str = r#"{"source":"S.","response":"R."}"#;

fn read(name: &str, content: &[u8], line_bytes: usize) -> Vec<Record> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let limits = InputLimits { request: Limits::default(), line_bytes };
    let mut receiver = spawn_reader(vec![path], limits).unwrap();
    std::iter::from_fn(|| receiver.blocking_recv()).collect()
}

fn shape(records: &[Record]) -> Vec<(Option<usize>, Result<&str, &'static str>)> {
    let outcome = |record: &Record| match &record.request {
        Ok(_) => Ok(()),
        Err(problem) => Err(problem.code.as_str()),
    };
    let place = |record: &Record| record.position.line.or(record.position.item);
    records.iter().map(|record| (place(record), outcome(record).map(|()| record.id.as_str()))).collect()
}

#[test]
fn a_broken_line_keeps_its_place_and_the_rest_is_read() {
    let text = format!(
        "{GOOD}\n\nnot json\n{{\"source\":\"S\"\n{{\"id\":7,\"source\":\"S\",\"response\":\"R\"}}\r\n\
         {{\"source\":\"S\",\"response\":3}}\n{{\"source\":\"\",\"response\":\"R\"}}\n{GOOD}"
    );
    let records = read("a.jsonl", text.as_bytes(), 1000);
    let expected = [
        (Some(1), Ok("line-1")),
        (Some(3), Err("GL1006")),
        (Some(4), Err("GL1006")),
        (Some(5), Ok("7")),
        (Some(6), Err("GL1007")),
        (Some(7), Err("GL1002")),
        (Some(8), Ok("line-8")),
    ];
    assert_eq!(shape(&records), expected);
    assert_eq!(records.last().unwrap().bytes_read, text.len() as u64);
    assert!(records[1].position.describe().unwrap().ends_with("a.jsonl, line 3"));
}

#[test]
fn bad_bytes_and_long_lines_have_their_codes() {
    let mut content = b"{\"source\":\"caf\xe9\",\"response\":\"R\"}\n{\"source\":\"a\0\"}\n".to_vec();
    content.extend(format!("{{\"source\":\"{}\",\"response\":\"R\"}}\n{GOOD}\n", "x".repeat(200)).bytes());
    let records = read("a.ndjson", &content, 100);
    let expected = [
        (Some(1), Err("GL1003")),
        (Some(2), Err("GL1004")),
        (Some(3), Err("GL1005")),
        (Some(4), Ok("line-4")),
    ];
    assert_eq!(shape(&records), expected);
}

#[test]
fn a_document_may_be_an_object_or_a_list_and_be_spread_over_lines() {
    let pretty = "\u{feff}\n{\n  \"id\": \"x\",\n  \"source\": \"S\",\n  \"response\": \"R\"\n}\n";
    assert_eq!(shape(&read("a.json", pretty.as_bytes(), 1000)), [(None, Ok("x"))]);
    let list = format!("[{GOOD},\n {GOOD}, 3]");
    let expected = [(Some(1), Ok("item-1")), (Some(2), Ok("item-2")), (Some(3), Err("GL1007"))];
    assert_eq!(shape(&read("a.json", list.as_bytes(), 1000)), expected);
    assert_eq!(shape(&read("a.json", format!("[{GOOD}]").as_bytes(), 1000)), [(Some(1), Ok("item-1"))]);
    assert_eq!(shape(&read("a.json", b"{\n \"source\": oops", 1000)), [(None, Err("GL1006"))]);
    assert_eq!(shape(&read("a.json", b" \n", 1000)), [(None, Err("GL1006"))]);
    assert_eq!(shape(&read("a.json", format!("[\n{GOOD}]").as_bytes(), 10)), [(None, Err("GL1005"))]);
}

#[test]
fn lines_are_recognised_without_a_telling_name() {
    let expected = [(Some(1), Ok("line-1")), (Some(2), Ok("line-2"))];
    assert_eq!(shape(&read("data", format!("{GOOD}\n{GOOD}\n").as_bytes(), 1000)), expected);
    let expected = [(Some(1), Err("GL1006")), (Some(2), Ok("line-2"))];
    assert_eq!(shape(&read("data", format!("{{\"source\": \"S\n{GOOD}\n").as_bytes(), 1000)), expected);
}

#[test]
fn a_first_line_over_the_limit_does_not_hide_the_lines_after_it() {
    let text = format!("{{\"source\":\"{}\"}}\n{GOOD}\n", "x".repeat(500));
    assert_eq!(
        shape(&read("data", text.as_bytes(), 100)),
        [(Some(1), Err("GL1005")), (Some(2), Ok("line-2"))]
    );
}

#[test]
fn a_missing_file_is_reported_and_the_next_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.jsonl");
    fs::write(&path, GOOD).unwrap();
    let limits = InputLimits { request: Limits::default(), line_bytes: 100 };
    let mut receiver = spawn_reader(vec![folder.path().join("none.jsonl"), path], limits).unwrap();
    let records: Vec<_> = std::iter::from_fn(|| receiver.blocking_recv()).collect();
    assert_eq!(shape(&records), [(None, Err("GL1010")), (Some(1), Ok("line-1"))]);
}
