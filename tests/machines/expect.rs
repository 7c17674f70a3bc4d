//! Facts of a machine: `<name>.expect.yaml` beside `<name>.yaml`, one fact a line.
//!
//! A fact is a JSONPath (RFC 9535) into what `inventory -o json` prints, and what it must lead to:
//!
//! ```yaml
//! "$.devices[?@.name=='mlx5_1'].ports[0].netdev": enp27s0f0np0   # this, wherever the path leads
//! "$.devices[*].name": [mlx5_0, mlx5_1]      # these, in this order
//! "$.devices[*]": {count: 12}                # so many
//! "$.devices[*].firmware": "~^28"            # texts with a match of this regular expression
//! "$.devices[*].parent": absent              # nothing, or only null
//! ```

use std::collections::BTreeMap;

use jsonpath_rust::JsonPath as _;
use serde_json::Value;

/// The facts of `text` that do not hold, each in a line.
///
/// # Errors
/// A file that is no map of facts.
pub(crate) fn broken(text: &str, inventory: &Value) -> Result<Vec<String>, String> {
    let facts: BTreeMap<String, Value> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let broken = |(path, expected): (&String, &Value)| {
        let found = match inventory.query(path) {
            Ok(found) => found,
            Err(error) => return Some(format!("{path}: {error}")),
        };
        let holds = holds(&found, expected).unwrap_or_else(|error| {
            eprintln!("{path}: {error}");
            false
        });
        (!holds).then(|| {
            format!("{path}: expected {expected}, found {}", Value::from_iter(found.into_iter().cloned()))
        })
    };
    Ok(facts.iter().filter_map(broken).collect())
}

fn holds(found: &[&Value], expected: &Value) -> Result<bool, String> {
    let all = |test: &dyn Fn(&Value) -> bool| !found.is_empty() && found.iter().all(|value| test(value));
    Ok(match expected {
        Value::String(word) if word == "absent" => found.iter().all(|value| value.is_null()),
        Value::String(word) if word.starts_with('~') => {
            let pattern = regex::Regex::new(&word[1..]).map_err(|error| error.to_string())?;
            all(&|value| value.as_str().is_some_and(|text| pattern.is_match(text)))
        }
        Value::Array(values) => {
            let same = |values: &[Value]| found.iter().copied().eq(values.iter());
            same(values) || same(std::slice::from_ref(expected))
        }
        Value::Object(operator) => match operator.iter().collect::<Vec<_>>().as_slice() {
            [(name, count)] if *name == "count" => Some(found.len() as u64) == count.as_u64(),
            _ => return Err(format!("{expected} is unknown: expected {{count: NUMBER}}")),
        },
        value => all(&|found| found == value),
    })
}

#[test]
fn facts_hold_or_are_told() {
    let inventory =
        serde_json::json!({"devices": [{"name": "a", "n": 1, "no": null}, {"name": "b", "n": 1}]});
    let good = "\
\"$.devices[*]\": {count: 2}
\"$.devices[?@.name=='b'].n\": 1
\"$.devices[*].name\": [a, b]
\"$.devices[0].name\": \"~^a$\"
\"$.devices[*].no\": absent
\"$.devices[*].nothing\": absent
";
    assert_eq!(broken(good, &inventory), Ok(Vec::new()));
    for bad in [
        "\"$.devices[*]\": {count: 3}",
        "\"$.devices[*]\": {length: 2}",
        "\"$.devices[?@.name=='b'].n\": 2",
        "\"$.devices[?@.name=='c'].n\": 1",
        "\"$.devices[*].name\": [b, a]",
        "\"$.devices[*].name\": a",
        "\"$.devices[0].name\": \"~^b\"",
        "\"$.devices[0].name\": \"~(\"",
        "\"$.devices[*].name\": absent",
        "\"$.devices[\": 1",
    ] {
        assert_eq!(broken(bad, &inventory).unwrap().len(), 1, "{bad}");
    }
    assert!(broken("- 1", &inventory).is_err());
}
