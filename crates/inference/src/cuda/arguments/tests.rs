use super::*;
use std::collections::BTreeMap;

/// Every source of the kernels.
fn sources() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sources = files.filter(|path| path.extension().is_some_and(|end| end == "cu"));
    sources.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// Fields of a struct of the kernels: name, and whether it is a pointer.
fn fields_of(sources: &str, name: &str) -> Vec<(String, bool)> {
    let (_, body) = sources.split_once(&format!("struct {name} {{")).unwrap_or_else(|| panic!("{name}"));
    let (body, _) = body.split_once("};").unwrap();
    let code: String = body.lines().map(|line| line.split("//").next().unwrap()).collect();
    let mut fields = Vec::new();
    for declaration in code.split(';').map(str::trim).filter(|text| !text.is_empty()) {
        let is_pointer = declaration.contains('*');
        let names = declaration.rsplit_once(if is_pointer { '*' } else { ' ' });
        let (kind, _) = declaration.split_once(' ').unwrap();
        let (_, rest) = if is_pointer { names.unwrap() } else { declaration.split_once(' ').unwrap() };
        assert!(is_pointer || ["i32", "float"].contains(&kind), "{declaration}");
        fields.extend(rest.split(',').map(|field| (field.trim().to_owned(), is_pointer)));
    }
    fields
}

fn examples() -> Vec<Arguments> {
    let n = Ptr::Null;
    vec![
        GatherArgs { table: n, index: n, out: n, rows: 0, width: 0 }.into(),
        EmbedArgs {
            words: n,
            positions: n,
            types: n,
            ids: n,
            position: n,
            r#type: n,
            gain: n,
            offset: n,
            out: n,
            wide: n,
            rows: 0,
            width: 0,
            eps: 0.0,
        }
        .into(),
        DisentangledArgs {
            qkv: n,
            pk: n,
            pq: n,
            lut: n,
            out: n,
            cu: n,
            tiles: n,
            n_tiles: n,
            heads: 0,
            table_slots: 0,
            first_slot: 0,
            slots: 0,
            reach: 0,
            linear: 0,
            stages: 0,
            scale: 0.0,
        }
        .into(),
        PlainArgs {
            qkv: n,
            bias: n,
            out: n,
            cu: n,
            tiles: n,
            n_tiles: n,
            heads: 0,
            reach: 0,
            bias_stride: 0,
            stages: 0,
            scale: 0.0,
        }
        .into(),
        ClsArgs {
            q: n,
            k: n,
            v: n,
            pk: n,
            pq: n,
            lut: n,
            bias: n,
            out: n,
            cu: n,
            heads: 0,
            kv_stride: 0,
            table_slots: 0,
            reach: 0,
            bias_stride: 0,
            scale: 0.0,
        }
        .into(),
        NormArgs { x: n, residual: n, gain: n, offset: n, out: n, wide: n, rows: 0, width: 0, eps: 0.0 }
            .into(),
        ActivationArgs { x: n, bias: n, rows: 0, width: 0 }.into(),
        UnfoldArgs { x: n, place: n, out: n, rows: 0, width: 0, taps: 0 }.into(),
        PoolerArgs { x: n, weight: n, bias: n, out: n, sequences: 0, width: 0, function: 0 }.into(),
        ClassifierArgs { pooled: n, weight: n, bias: n, logits: n, not_finite: n, labels: 0, width: 0 }
            .into(),
        MeanArgs { x: n, cu: n, out: n, width: 0 }.into(),
        ConformanceArgs { r#in: n, out: n, counter: n, operation: 0 }.into(),
    ]
}

#[test]
fn every_struct_has_the_fields_of_the_kernels_in_their_order() {
    let sources = sources();
    let structs = sources.matches("Args {").count();
    let examples = examples();
    assert_eq!(examples.len(), structs, "structs in the kernels");
    for arguments in examples {
        let names = arguments.fields.iter().map(|name| name.trim_start_matches("r#").to_owned());
        let pointers = arguments.pointers.len();
        let ours: Vec<_> = names.enumerate().map(|(place, name)| (name, place < pointers)).collect();
        assert_eq!(ours, fields_of(&sources, arguments.name), "{}", arguments.name);
    }
}

#[test]
fn bytes_are_addresses_then_numbers_and_whole_words() {
    let arguments =
        Arguments::from(MeanArgs { x: Ptr::Weights(1), cu: Ptr::Null, out: Ptr::Work(0, 2), width: -2 });
    let addresses = BTreeMap::from([("Weights(1)", 7_u64), ("Null", 0), ("Work(0, 2)", 9)]);
    let bytes = arguments.bytes(|pointer| addresses[format!("{pointer:?}").as_str()]);
    let mut expected: Vec<u8> = [7_u64, 0, 9].into_iter().flat_map(u64::to_ne_bytes).collect();
    expected.extend((-2_i32).to_ne_bytes());
    expected.extend([0; 4]);
    assert_eq!(bytes, expected);
}
