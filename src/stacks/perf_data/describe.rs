//! The description of a recording, for `info`.

use crate::ascii::to_hex;
use crate::limits::Limits;
use crate::model::description::{Description, PartDescription};
use crate::perf::{Recording, read_recording};
use std::io::Read;

/// Build ids that are listed.
const MOST_BUILD_IDS: usize = 1000;

/// Describes a recording: its events, the machine, and the programs.
pub(crate) fn describe(data: &[u8], limits: &Limits) -> Description {
    let mut description = Description::new("Linux perf recording", data.len() as u64);
    description.supported = true;
    let open = || Ok(Box::new(data) as Box<dyn Read>);
    match read_recording(&open, limits, &mut |_, _| Ok(())) {
        Ok(recording) => {
            description.warnings = recording.counts.warnings().into_iter().map(|warning| warning.message).collect();
            description.parts.push(part(&recording));
        }
        Err(error) => description.set_error(&error.in_format(super::FORMAT)),
    }
    description
}

fn part(recording: &Recording) -> PartDescription {
    let read_by = Some("perf, profbridge".to_string());
    let mut part = PartDescription { read_by, ..PartDescription::default() };
    part.version = Some("2".to_string());
    part.byte_order = Some(recording.endian.to_string());
    let features = &recording.features;
    let perf = Some(&features.perf_version).filter(|version| !version.is_empty());
    part.written_by = perf.map(|version| format!("perf {version}"));
    let counts = &recording.counts;
    for (at, event) in recording.attributes.list().iter().enumerate() {
        let samples = counts.samples.get(at).copied().unwrap_or(0);
        let mut words = vec![format!("{} samples", samples)];
        if event.has_call_chains() {
            words.push("call chains".to_string());
        }
        if event.has_branches() {
            words.push("branch records".to_string());
        }
        part.fact(format!("event {}", event.display_name().trim()), words.join(", "));
    }
    part.fact("samples", counts.samples.iter().sum::<u64>().to_string());
    let form = if recording.is_piped { "from a pipe" } else { "a file" };
    part.fact("form", if counts.is_compressed { format!("{form}, compressed") } else { form.to_string() });
    for (label, value) in [
        ("host", &features.host),
        ("architecture", &features.arch),
        ("processor", &features.cpu),
        ("kernel", &features.os_release),
        ("command", &features.command_line.join(" ")),
    ] {
        if !value.is_empty() {
            part.fact(label, value.as_str());
        }
    }
    let skipped: u64 = counts.skipped.values().sum();
    part.fact("other records", skipped.to_string());
    for listed in features.build_ids.iter().take(MOST_BUILD_IDS) {
        part.fact(format!("build id of {}", String::from_utf8_lossy(&listed.path)), to_hex(&listed.id));
    }
    part
}
