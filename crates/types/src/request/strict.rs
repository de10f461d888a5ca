//! JSON as `serde_json` reads it, but without names that stand twice: it would keep the last and say nothing.

use crate::{Code, Problem};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value};

/// Reads a whole text.
pub(super) fn read(text: &str) -> Result<Value, Problem> {
    let read = serde_json::from_str(text).map(|Strict(value)| value);
    read.map_err(|error| {
        // A text of one line has no lines to tell apart; in a JSONL file they would be mistaken for the file's.
        let place = match text.trim_end().contains('\n') {
            true => format!("line {} column {}", error.line(), error.column()),
            false => format!("column {}", error.column()),
        };
        match error.classify() {
            Category::Data => {
                let message = format!("a field stands twice in one object, the second time at {place}");
                Problem::new(Code::INVALID_FIELD, message)
            }
            Category::Eof => {
                Problem::new(Code::MALFORMED_JSON, format!("not valid JSON at {place}: it ends too early"))
            }
            Category::Syntax | Category::Io => {
                Problem::new(Code::MALFORMED_JSON, format!("not valid JSON at {place}"))
            }
        }
    })
}

/// A value in which every object has each name once.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom("a name stands twice"));
            }
            let Strict(value) = entries.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}
