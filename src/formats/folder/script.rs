//! JSON as JavaScript's `JSON.stringify` writes it, whose digest the pattern's own code takes.

use serde_json::{Map, Value};

/// The text of a value. Numbers and the order of keys are those of JavaScript, whatever a source wrote.
pub(super) fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => out.push_str(&digits(&number.to_string())),
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (n, (key, item)) in in_order(map).into_iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// Keys that are array indexes come first, by their number.
fn in_order(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let index = |key: &str| {
        let is_plain = key == "0" || (!key.starts_with('0') && key.bytes().all(|byte| byte.is_ascii_digit()));
        key.parse::<u32>().ok().filter(|n| is_plain && *n < u32::MAX)
    };
    let mut all: Vec<_> = map.iter().collect();
    all.sort_by_key(|(key, _)| index(key).map_or((1, 0), |n| (0, n)));
    all
}

/// A number as JavaScript prints the double that it is.
fn digits(text: &str) -> String {
    let Ok(number) = text.parse::<f64>() else {
        return text.to_owned();
    };
    if !number.is_finite() {
        return "null".to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    // The shortest digits that read back as this double: `d.ddde±x`.
    let shortest = format!("{:e}", number.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let sign = if number < 0.0 { "-" } else { "" };
    let point = exponent + 1;
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or(0));
    let body = if count <= point && point <= 21 {
        format!("{digits}{}", zeros(point - count))
    } else if (1..=21).contains(&point) {
        let at = usize::try_from(point).unwrap_or(0);
        format!("{}.{}", &digits[..at], &digits[at..])
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() {
            String::new()
        } else {
            format!(".{rest}")
        };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{first}{rest}e{sign}{}", exponent.abs())
    };
    format!("{sign}{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of node 20 for each.
    #[test]
    fn numbers_and_keys_are_those_of_javascript() {
        for (given, expected) in [
            ("1.50", "1.5"),
            ("-0", "0"),
            ("1e5", "100000"),
            ("1E400", "null"),
            ("123456789012345678901234567890", "1.2345678901234568e+29"),
            ("100000000000000000000", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("-12.25e-3", "-0.01225"),
            ("9007199254740993", "9007199254740992"),
        ] {
            let value: Value = serde_json::from_str(given).expect(given);
            assert_eq!(text(&value), expected, "{given}");
        }
        let value: Value =
            serde_json::from_str(r#"{"b":1,"10":2,"a":"\u0001\n\u00e9\"","2":[true,null],"01":0}"#).expect("JSON");
        assert_eq!(
            text(&value),
            "{\"2\":[true,null],\"10\":2,\"b\":1,\"a\":\"\\u0001\\n\u{e9}\\\"\",\"01\":0}"
        );
    }
}
