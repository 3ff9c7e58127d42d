//! Why a filter finds nothing: a word that nothing in the cluster has is a slip, not an empty answer.

use std::collections::BTreeSet;

use super::{Input, Row};
use crate::{
    answer::clean::quoted,
    arguments::nearest,
    lookup::guest::{node_of, tags},
};

/// How many of the words that exist are told.
const TOLD: usize = 12;

/// The words that filters can find in this list.
pub(super) struct Known {
    nodes: BTreeSet<String>,
    pools: BTreeSet<String>,
    tags: BTreeSet<String>,
    /// Whether a guest has the name that is looked for, or a part of it.
    has_name: bool,
}

/// A filter that says something: models fill in what they leave open with an empty text.
pub(super) fn given(filter: Option<&String>) -> Option<&str> {
    filter.map(|text| text.trim()).filter(|text| !text.is_empty())
}

impl Known {
    pub(super) fn of(guests: &[Row<'_>], input: &Input) -> Self {
        Self {
            has_name: guests.iter().any(|guest| input.names(guest)),
            nodes: guests.iter().map(|guest| node_of(guest.listed).to_owned()).collect(),
            pools: guests
                .iter()
                .filter_map(|guest| guest.listed.pool.as_deref().map(str::to_owned))
                .collect(),
            tags: guests
                .iter()
                .flat_map(|guest| tags(guest.listed.tags.as_deref()))
                .map(str::to_owned)
                .collect(),
        }
    }

    /// What is to be said of filters that nothing could pass.
    pub(super) fn explain(&self, input: &Input) -> Vec<String> {
        let filters = [
            ("on a node", "nodes with guests", &input.node, &self.nodes),
            ("in a pool", "pools", &input.pool, &self.pools),
            ("with a tag", "tags", &input.tag, &self.tags),
        ];
        let slips = filters.into_iter().filter_map(|(what, kind, wanted, known)| {
            let wanted = given(wanted.as_ref())?;
            if known.iter().any(|word| word.eq_ignore_ascii_case(wanted)) {
                return None;
            }
            let near = nearest(wanted, known.iter().map(String::as_str))
                .map(|near| format!("did you mean {}? ", quoted(near)))
                .unwrap_or_default();
            let words: Vec<_> = known.iter().take(TOLD).map(|word| quoted(word)).collect();
            let told = match known.len().saturating_sub(TOLD) {
                _ if words.is_empty() => "none that this token sees".to_owned(),
                0 => words.join(", "),
                more => format!("{} and {more} more", words.join(", ")),
            };
            Some(format!("no guest is {what} {}: {near}{kind}: {told}", quoted(wanted)))
        });
        let name = given(input.name.as_ref())
            .filter(|_| !self.has_name)
            .map(|wanted| format!("no guest has {} in its name, or as its vmid", quoted(wanted)));
        slips.chain(name).collect()
    }
}
