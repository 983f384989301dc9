//! The member of a patch that is at fault, as far inside as it can be named.

use serde_json::Value;

/// Members that are percentages.
const PERCENT: [&str; 1] = ["progress"];

/// The innermost member that is at fault, and why. `fails` gives the reason why a value in the place of `value` is
/// refused.
pub(super) fn innermost(
    value: &Value,
    path: &str,
    fails: &dyn Fn(&Value) -> Option<String>,
) -> Option<(String, String)> {
    let reason = fails(value)?;
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let mut rest = members.clone();
                rest.shift_remove(name);
                if is_cause(&reason, fails(&Value::Object(rest)).as_deref()) {
                    let with = |other: &Value| {
                        let mut members = members.clone();
                        members.insert(name.clone(), other.clone());
                        fails(&Value::Object(members))
                    };
                    return innermost(member, &format!("{path}.{name}"), &with);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let mut rest = items.clone();
                rest.remove(at);
                if is_cause(&reason, fails(&Value::Array(rest)).as_deref()) {
                    let with = |other: &Value| {
                        let mut items = items.clone();
                        items[at] = other.clone();
                        fails(&Value::Array(items))
                    };
                    return innermost(item, &format!("{path}[{at}]"), &with);
                }
            }
        }
        _ => {}
    }
    let name = path.rsplit('.').next().unwrap_or(path);
    let reason = if PERCENT.contains(&name) {
        "it must be a whole number from 0 to 100".to_owned()
    } else {
        reason
    };
    Some((path.to_owned(), reason))
}

/// Whether a member is why a value is refused, by the reasons with it and without it. Where something is missing, that
/// more is missing without another member says nothing about that one.
fn is_cause(with: &str, without: Option<&str>) -> bool {
    let is_missing = |reason: &str| reason.ends_with(" is missing");
    match without {
        None => true,
        Some(without) => without != with && !(is_missing(with) && is_missing(without)),
    }
}

/// The first task whose progress is more than all of it.
pub(super) fn too_much_progress(patch: &Value) -> Option<(String, String)> {
    let tasks = patch.get("tasks")?.as_array()?;
    let at = tasks
        .iter()
        .position(|task| task["progress"].as_u64().is_some_and(|percent| percent > 100))?;
    let reason = "it must be a whole number from 0 to 100".to_owned();
    Some((format!("tasks[{at}].progress"), reason))
}
