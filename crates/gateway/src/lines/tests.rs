use super::*;
use futures_util::stream;
use std::io::Error;

const PATIENCE: Duration = Duration::from_secs(5);

fn lines(pieces: &[&str], limit: usize) -> Lines {
    let pieces = pieces.iter().map(|piece| Ok::<_, Error>((*piece).to_owned())).collect::<Vec<_>>();
    Lines::new(Body::from_stream(stream::iter(pieces)), limit)
}

async fn all(mut lines: Lines) -> Result<Vec<String>, Problem> {
    let mut found = Vec::new();
    while let Some(line) = lines.next(PATIENCE).await? {
        found.push(String::from_utf8(line.trim_ascii().to_vec()).unwrap());
    }
    Ok(found)
}

#[tokio::test]
async fn lines_are_found_however_they_are_cut() {
    for pieces in [&["one\ntwo\r\n\n", "thr", "ee"][..], &["o", "ne", "\n", "two\r", "\n\n \nthree\n"]] {
        assert_eq!(all(lines(pieces, 100)).await.unwrap(), ["one", "two", "three"]);
    }
    assert!(all(lines(&[], 100)).await.unwrap().is_empty());
    assert!(all(lines(&["\n\n"], 100)).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_however_short_its_lines_are() {
    assert_eq!(all(lines(&["0123456789", "0"], 10)).await.unwrap_err().code, Code::TOO_LARGE);
    assert_eq!(all(lines(&["\n"; 11], 10)).await.unwrap_err().code, Code::TOO_LARGE);
    assert_eq!(all(lines(&["0123\n", "0123\n"], 10)).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_told_from_one_that_ends() {
    let pieces = [Ok("one\ntw".to_owned()), Err(Error::other("reset"))];
    let mut lines = Lines::new(Body::from_stream(stream::iter(pieces)), 100);
    assert_eq!(lines.next(PATIENCE).await.unwrap().as_deref(), Some(&b"one\n"[..]));
    assert_eq!(lines.next(PATIENCE).await.unwrap_err().code, Code::MALFORMED_JSON);
}

#[tokio::test(start_paused = true)]
async fn silence_counts_from_what_came_last_and_not_from_who_asked_last() {
    let silent = stream::pending::<Result<String, Error>>();
    let mut lines = Lines::new(Body::from_stream(silent), 10);
    // Asked for again and again, as a select does.
    let began = Instant::now();
    let problem = loop {
        let asked = tokio::time::timeout(Duration::from_secs(1), lines.next(PATIENCE)).await;
        if let Ok(answer) = asked {
            break answer.unwrap_err();
        }
    };
    assert_eq!((problem.code, began.elapsed()), (Code::BODY_TIMEOUT, PATIENCE));
}
