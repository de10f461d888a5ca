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

fn shape(records: &[Record]) -> Vec<(Option<usize>, Result<String, &'static str>)> {
    let outcome = |record: &Record| match &record.request {
        Ok(_) => Ok(()),
        Err(problem) => Err(problem.code.as_str()),
    };
    let place = |record: &Record| record.position.line.or(record.position.item);
    let id = |record: &Record| record.id.clone().unwrap_or_else(|| record.position.made_id());
    records.iter().map(|record| (place(record), outcome(record).map(|()| id(record)))).collect()
}

#[test]
fn a_broken_line_keeps_its_place_and_the_rest_is_read() {
    let text = format!(
        "{GOOD}\n\nnot json\n{{\"source\":\"S\"\n{{\"id\":7,\"source\":\"S\",\"response\":\"R\"}}\r\n\
         {{\"source\":\"S\",\"response\":3}}\n{{\"source\":\"\",\"response\":\"R\"}}\n{GOOD}"
    );
    let records = read("a.jsonl", text.as_bytes(), 1000);
    let expected = [
        (Some(1), Ok("line-1".into())),
        (Some(3), Err("GL1006")),
        (Some(4), Err("GL1006")),
        (Some(5), Ok("7".into())),
        (Some(6), Err("GL1007")),
        (Some(7), Err("GL1002")),
        (Some(8), Ok("line-8".into())),
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
        (Some(4), Ok("line-4".into())),
    ];
    assert_eq!(shape(&records), expected);
}

#[test]
fn a_document_may_be_an_object_or_a_list_and_be_spread_over_lines() {
    let pretty = "\u{feff}\n{\n  \"id\": \"x\",\n  \"source\": \"S\",\n  \"response\": \"R\"\n}\n";
    assert_eq!(shape(&read("a.json", pretty.as_bytes(), 1000)), [(None, Ok("x".into()))]);
    let list = format!("[{GOOD},\n {GOOD}, 3]");
    let expected = [(Some(1), Ok("item-1".into())), (Some(2), Ok("item-2".into())), (Some(3), Err("GL1007"))];
    assert_eq!(shape(&read("a.json", list.as_bytes(), 1000)), expected);
    assert_eq!(
        shape(&read("a.json", format!("[{GOOD}]").as_bytes(), 1000)),
        [(Some(1), Ok("item-1".into()))]
    );
    assert_eq!(shape(&read("a.json", b"{\n \"source\": oops", 1000)), [(None, Err("GL1006"))]);
    assert_eq!(shape(&read("a.json", b" \n", 1000)), [(None, Err("GL1006"))]);
    assert_eq!(shape(&read("a.json", format!("[\n{GOOD}]").as_bytes(), 10)), [(None, Err("GL1005"))]);
}

#[test]
fn lines_are_recognised_without_a_telling_name() {
    let expected = [(Some(1), Ok("line-1".into())), (Some(2), Ok("line-2".into()))];
    assert_eq!(shape(&read("data", format!("{GOOD}\n{GOOD}\n").as_bytes(), 1000)), expected);
    let expected = [(Some(1), Err("GL1006")), (Some(2), Ok("line-2".into()))];
    assert_eq!(shape(&read("data", format!("{{\"source\": \"S\n{GOOD}\n").as_bytes(), 1000)), expected);
}

#[test]
fn a_first_line_over_the_limit_does_not_hide_the_lines_after_it() {
    let text = format!("{{\"source\":\"{}\"}}\n{GOOD}\n", "x".repeat(500));
    assert_eq!(
        shape(&read("data", text.as_bytes(), 100)),
        [(Some(1), Err("GL1005")), (Some(2), Ok("line-2".into()))]
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
    assert_eq!(shape(&records), [(None, Err("GL1010")), (Some(1), Ok("line-1".into()))]);
}

#[test]
fn a_refused_request_keeps_the_id_that_it_gives_and_gets_none_made() {
    let text = "{\"id\":\"a\",\"source\":\"S\",\"response\":3}\n{\"id\":7,\"source\":\"\",\"response\":\"R\"}\n\
                {\"source\":\"\",\"response\":\"R\"}\n{\"id\":\"b\", oops\n{\"id\":[1],\"source\":\"S\",\"response\":\"R\"}\n";
    let records = read("a.jsonl", text.as_bytes(), 1000);
    assert!(records.iter().all(|record| record.request.is_err()));
    let ids = records.iter().map(|record| record.id.as_deref()).collect::<Vec<_>>();
    assert_eq!(ids, [Some("a"), Some("7"), None, None, None]);
}

#[test]
fn an_input_without_a_request_says_so_by_name() {
    let contents: [(&str, &[u8]); 6] = [
        ("a.jsonl", b""),
        ("a.jsonl", b"\n \n\r\n"),
        ("a.jsonl", "\u{feff}\n".as_bytes()),
        ("a.json", b"[]"),
        ("a.json", b" [\n]\n"),
        ("data", b""),
    ];
    for (name, content) in contents {
        let records = read(name, content, 1000);
        assert_eq!(records.len(), 1, "{name} {content:?}");
        let problem = records[0].request.as_ref().unwrap_err();
        assert_eq!((problem.code, problem.code.exit_status()), (Code::MALFORMED_JSON, 2));
        let message = format!("{name}: expected JSON or JSONL");
        assert!(problem.message.starts_with("no request in ") && problem.message.ends_with(&message));
    }
}

#[test]
fn a_broken_line_has_its_column_and_no_second_line_number() {
    let records = read("a.jsonl", b"{\"response\": oops}\n", 1000);
    assert_eq!(records[0].request.as_ref().unwrap_err().message, "not valid JSON at column 14");
}
