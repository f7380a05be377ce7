//! Sources of stacks whose content says more than their first bytes.

use crate::call_chains::{SampleSource, StackTable};
use crate::families::read::stacks::{StackOptions, add_input};
use crate::limits::Limits;
use crate::model::description::{Description, PartDescription, hex};
use crate::stacks::pprof::{self, GoVerdict, Profile};

/// Adds to the description of a recording or a text what its stacks are.
pub(crate) fn add_samples(mut description: Description, data: &[u8], limits: &Limits) -> Description {
    let mut options = StackOptions { limits: *limits, ..StackOptions::default() };
    options.text.accept_weights = true;
    let mut table = StackTable::new();
    match add_input(data, &options, &mut table) {
        Ok(warnings) => description.warnings.extend(warnings.into_iter().map(|warning| warning.message)),
        Err(error) if description.error.is_none() => description.set_error(&error),
        Err(_) => {}
    }
    if let Some(part) = description.parts.first_mut() {
        part.fact("stacks", table.samples().count().to_string());
        for (source, hits) in table.hits_by_source() {
            let sort = match source {
                SampleSource::Unknown => String::new(),
                known => format!(" {}", known.word()),
            };
            part.fact("samples", format!("{hits}{sort}"));
        }
        part.fact("functions", table.functions().count().to_string());
    }
    description
}

/// A pprof profile.
pub(crate) fn describe_pprof(data: &[u8], limits: &Limits) -> Description {
    let mut description = Description::new(pprof::FORMAT, data.len() as u64);
    description.supported = true;
    match pprof::read(data, limits) {
        Ok((profile, warnings)) => {
            description.warnings.extend(warnings.into_iter().map(|warning| warning.message));
            description.parts.push(part(&profile));
        }
        Err(error) => description.set_error(&error),
    }
    description
}

fn part(profile: &Profile) -> PartDescription {
    let read_by = Some("pprof, go tool pprof, go build -pgo, profbridge".to_string());
    let mut part = PartDescription { read_by, ..PartDescription::default() };
    for (label, count) in [
        ("samples", profile.samples.len()),
        ("mappings", profile.mappings.len()),
        ("locations", profile.locations.len()),
        ("functions", profile.functions.len()),
        ("strings", profile.strings.len()),
    ] {
        part.fact(label, count.to_string());
    }
    part.fact("values", profile.value_names().join(", "));
    if !profile.default_sample_type.is_empty() {
        part.fact("value shown by default", profile.text(profile.default_sample_type));
    }
    if let Some(of) = profile.period_type {
        part.fact("period", format!("{} {}", profile.period, profile.value_name(of)));
    }
    if profile.duration_nanos > 0 {
        part.fact("duration", format!("{:.3} s", profile.duration_nanos as f64 / 1e9));
    }
    for (label, id) in [("dropped frames", profile.drop_frames), ("kept frames", profile.keep_frames)] {
        if !id.is_empty() {
            part.fact(label, profile.text(id));
        }
    }
    for comment in &profile.comments {
        part.fact("comment", profile.text(*comment));
    }
    let go = match pprof::judge_for_go(profile).0 {
        GoVerdict::OptionValue => "taken",
        GoVerdict::Ignores => "accepted but ignored",
        GoVerdict::Refuses => "refused",
    };
    part.fact("as default.pgo of Go", format!("{go} (see check)"));
    for mapping in profile.mappings.iter().filter(|mapping| !mapping.build_id.is_empty()) {
        let id = profile.strings.get(mapping.build_id);
        part.binary_ids.push(String::from_utf8(id.to_vec()).unwrap_or_else(|_| hex(id)));
    }
    part
}
