//! Leaving parts of a document out: entries, sections, and what nothing refers to.

use super::context::{ContextHandle, ContextTree};
use super::document::{Document, Table, TopMember, move_extras};
use super::names;
use super::sections::{Records, SectionKind, TypeCount};
use super::tables::{MethodHandle, Tables};
use super::version::Version;
use crate::call_chains::MethodPattern;
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use std::collections::BTreeSet;

impl Document {
    /// Keeps the entries of a section that `keep` wants. Ids stay as they are.
    pub fn retain_entries(
        &mut self,
        kind: SectionKind,
        mut keep: impl FnMut(&Tables, &ContextTree, ContextHandle, Records<'_>) -> bool,
    ) {
        let (tables, contexts) = (&self.tables, &self.contexts);
        let kept = self.sections.retain(kind, |context, records| keep(tables, contexts, context, records));
        move_extras(&mut self.extras, Table::Section(kind), &kept);
    }

    /// Keeps the type counts of a section that `keep` wants, and entries even without any.
    pub fn retain_types(&mut self, kind: SectionKind, keep: impl Fn(&Tables, TypeCount) -> bool) {
        let tables = &self.tables;
        if let Some(section) = self.sections.types_mut(kind) {
            let kept = |pairs: &[TypeCount]| -> Vec<TypeCount> {
                pairs.iter().filter(|pair| keep(tables, **pair)).copied().collect()
            };
            *section = section.iter().map(|(context, pairs)| (context, kept(pairs))).collect();
        }
    }

    /// Drops a section altogether, its mention included.
    pub fn remove_section(&mut self, kind: SectionKind) {
        self.retain_entries(kind, |_, _, _, _| false);
        self.layout.retain(|member| *member != TopMember::Table(Table::Section(kind)));
    }

    /// Drops members that are not part of the format, and says which.
    pub fn remove_members(&mut self) -> Vec<String> {
        let names = self.members().map(|(name, _)| names::display(name)).collect();
        self.layout.retain(|member| !matches!(member, TopMember::Other(..)));
        names
    }

    /// Drops methods that no context has and types that no method and no record
    /// needs. Ids stay as they are. Members that are not part of the format may
    /// refer to what goes; they are dropped, and their names returned.
    pub fn prune(&mut self) -> Vec<String> {
        let dropped = self.remove_members();
        let contexts = self.used_contexts();
        let mut methods = vec![false; self.tables.methods_count()];
        let mut types = vec![false; self.tables.types_count()];
        for (context, _, frame) in self.contexts.iter() {
            if contexts[context.index()] {
                methods[frame.method.index()] = true;
            }
        }
        for method in self.tables.methods().filter(|method| methods[method.index()]) {
            self.tables.signature(method).iter().for_each(|part| types[part.index()] = true);
        }
        for kind in SectionKind::ALL {
            if let Some(section) = self.sections.types(kind) {
                section.rows().iter().for_each(|pair| types[pair.class.index()] = true);
            }
        }
        self.keep_tables(&types, &methods, &contexts);
        dropped
    }

    /// Which contexts entries refer to, callers included.
    fn used_contexts(&self) -> Vec<bool> {
        let mut used = vec![false; self.contexts.len()];
        for kind in SectionKind::ALL {
            for (mut context, _) in self.sections.entries(kind) {
                while !std::mem::replace(&mut used[context.index()], true) {
                    context = self.contexts.caller(context);
                }
            }
        }
        used
    }

    /// Rebuilds tables and contexts from what is kept; everything referred to must be.
    fn keep_tables(&mut self, types: &[bool], methods: &[bool], contexts: &[bool]) {
        let (tables, mapping) = self.tables.selected(types, methods);
        move_extras(&mut self.extras, Table::Types, types);
        move_extras(&mut self.extras, Table::Methods, methods);
        let mut tree = ContextTree::default();
        let places = tree.adopt(&self.contexts, &mapping.methods, |context| contexts[context.index()]);
        self.sections.rename(|context| places[context.index()], |class| mapping.types[class.index()]);
        (self.tables, self.contexts) = (tables, tree);
    }

    /// Changes the version to write.
    ///
    /// # Errors
    ///
    /// Usage for a version that is not 1.0.x or 1.1.x; would lose for 1.0.x
    /// when there are instance-of profiles.
    pub fn convert_to(&mut self, version: Version) -> Result<()> {
        if version < Version::V1_0 || version.major > 1 || version.minor > 1 {
            return Err(Error::usage(format!("version {version} cannot be written; 1.0.0 and 1.1.0 can")));
        }
        if version < Version::V1_1 && self.has_instanceof() {
            if !self.sections.instanceofs.is_empty() {
                let detail = format!("version {version} has no instance-of profiles, and there are some");
                return Err(Error::new(ErrorKind::WouldLose { detail }).with_hint(Hint::ChooseSections));
            }
            self.remove_section(SectionKind::Instanceof);
        }
        self.version = version;
        Ok(())
    }
}

/// Which methods are wanted, by package or by pattern.
#[derive(Debug, Clone, Default)]
pub struct MethodFilter {
    only: Vec<MethodPattern>,
    exclude: Vec<MethodPattern>,
}

impl MethodFilter {
    /// Methods that match one of `only` (all, if there are none) and none of `exclude`.
    ///
    /// # Errors
    ///
    /// Usage for what is no pattern.
    pub fn new(only: &[String], exclude: &[String]) -> Result<Self> {
        let parse = |texts: &[String]| texts.iter().map(|text| MethodPattern::parse(text)).collect::<Result<_>>();
        Ok(Self { only: parse(only)?, exclude: parse(exclude)? })
    }

    /// Whether nothing is filtered.
    pub fn is_empty(&self) -> bool {
        self.only.is_empty() && self.exclude.is_empty()
    }

    /// Whether a method is wanted, by its name as people write it.
    pub fn matches(&self, method: &str) -> bool {
        (self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(method)))
            && !self.exclude.iter().any(|pattern| pattern.matches(method))
    }

    /// Keeps entries whose innermost method is wanted. Monitors belong to no
    /// method and stay only if nothing is restricted to some methods.
    pub fn apply(&self, document: &mut Document) {
        let wanted: BTreeSet<MethodHandle> =
            document.tables.methods().filter(|method| self.matches(&document.tables.human_name(*method))).collect();
        let monitors_stay = self.only.is_empty();
        for kind in SectionKind::ALL {
            document.retain_entries(kind, |_, contexts, context, _| match contexts.leaf(context) {
                Some(leaf) => wanted.contains(&leaf.method),
                None => monitors_stay,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::{ReadOptions, WriteOptions, read, write};

    const FILE: &str = concat!(
        r#"{"version":"1.1.0","types":[{"id":1,"name":"app.Main"},{"id":2,"name":"void"},{"id":3,"name":"java.util.Map$Entry"},{"id":4,"name":"unused.T"}],"#,
        r#""methods":[{"id":5,"name":"run","signature":[1,2]},{"id":6,"name":"idle","signature":[4,2]},{"id":7,"name":"get","signature":[3,1],"k":1}],"#,
        r#""callCountProfiles":[{"ctx":"5:0","records":[1]},{"ctx":"7:0<5:2","records":[2],"x":9}],"#,
        r#""virtualInvokeProfiles":[{"ctx":"5:3","records":[]},{"ctx":"5:4","records":[3,1],"y":8}],"mine":[5],"instanceofProfiles":[]}"#
    );

    fn document() -> Document {
        read(FILE.as_bytes(), &ReadOptions::default()).unwrap().0
    }

    fn text(document: &Document) -> String {
        String::from_utf8(write(document, &WriteOptions::default())).unwrap()
    }

    #[test]
    fn pruning_keeps_used_entries_and_their_ids() {
        let mut pruned = document();
        assert_eq!(pruned.prune(), ["mine"]);
        let expected = FILE
            .replace(r#",{"id":4,"name":"unused.T"}"#, "")
            .replace(r#"{"id":6,"name":"idle","signature":[4,2]},"#, "")
            .replace(r#""mine":[5],"#, "");
        assert_eq!(text(&pruned), expected);
    }

    #[test]
    fn filters_look_at_the_innermost_method() {
        let filtered = |only: &[&str], exclude: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
            let mut document = document();
            MethodFilter::new(&owned(only), &owned(exclude)).unwrap().apply(&mut document);
            (document.sections.call_counts.len(), document.sections.virtual_invokes.len())
        };
        assert_eq!(filtered(&["app"], &[]), (1, 2));
        assert_eq!(filtered(&["java.util.*"], &[]), (1, 0));
        assert_eq!(filtered(&["java.util.Map"], &[]), (1, 0));
        assert_eq!(filtered(&["jav"], &[]), (0, 0));
        assert_eq!(filtered(&[], &["app.Main.run"]), (1, 0));
        assert_eq!(filtered(&["/get\\(\\)$/"], &[]), (1, 0));
        assert!(MethodFilter::new(&["*".to_string()], &[]).is_err());
    }

    #[test]
    fn members_follow_their_entries() {
        let mut changed = document();
        changed.retain_entries(SectionKind::VirtualInvoke, |_, _, _, records| !records.is_empty());
        MethodFilter::new(&[], &["app.Main.run".to_string()]).unwrap().apply(&mut changed);
        assert!(text(&changed).contains(r#""callCountProfiles":[{"ctx":"7:0<5:2","records":[2],"x":9}]"#));
        let mut emptied = document();
        emptied.retain_entries(SectionKind::VirtualInvoke, |_, _, _, records| !records.is_empty());
        assert!(text(&emptied).contains(r#""virtualInvokeProfiles":[{"ctx":"5:4","records":[3,1],"y":8}]"#));
    }

    #[test]
    fn versions_go_down_only_where_nothing_is_lost() {
        let mut plain = document();
        plain.convert_to(Version::V1_0).unwrap();
        assert!(text(&plain).starts_with(r#"{"version":"1.0.0""#) && !text(&plain).contains("instanceof"));
        let mut with = document();
        with.sections.instanceofs.push(ContextHandle::from_index(1), &[]);
        assert!(with.convert_to(Version::V1_0).unwrap_err().to_string().contains("instance-of"));
        assert!(with.convert_to(Version { major: 2, minor: 0, patch: 0 }).is_err());
    }
}
