//! Which methods ran, by package.

use super::model::Coverage;
use crate::iprof::names;
use crate::iprof::tables::Tables;
use crate::java;
use std::collections::BTreeMap;

/// Of all methods, and by package.
pub(super) fn coverage(tables: &Tables, executed: &[bool]) -> (Coverage, Vec<Coverage>) {
    // By declaring type first: there are far fewer types than methods.
    let mut by_class = vec![(0u64, 0u64); tables.types_count()];
    for (handle, executed) in tables.methods().zip(executed) {
        let [declaring, ..] = tables.signature(handle) else { continue };
        let (declared, run) = &mut by_class[declaring.index()];
        *declared += 1;
        *run += u64::from(*executed);
    }
    let mut all = Coverage::default();
    let mut packages: BTreeMap<&[u8], Coverage> = BTreeMap::new();
    for (class, (declared, run)) in tables.types().zip(by_class).filter(|(_, (declared, _))| *declared > 0) {
        let of_package = packages.entry(java::package(tables.type_name(class))).or_default();
        for coverage in [&mut all, of_package] {
            coverage.declared += declared;
            coverage.executed += run;
        }
    }
    let named = |(name, coverage): (&[u8], Coverage)| Coverage { package: Some(names::display(name)), ..coverage };
    (all, packages.into_iter().map(named).collect())
}
