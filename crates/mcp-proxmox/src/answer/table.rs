//! Rows under one header, which cost a model a third of what an object per row costs.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer, ser::SerializeStruct as _};

use super::{
    Bytes, Duration, Number, Percent, Share,
    cost::{self, Room},
};

/// A list of things: the names of the columns once, then a row for each thing.
#[derive(Debug, Default)]
pub struct Table {
    columns: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

/// One value in a row. Unknown is [`Cell::Unknown`], never zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Not known, or not applicable. `null` in JSON, `-` in text.
    Unknown,
    /// A word, a name.
    Text(Cow<'static, str>),
    /// A percentage.
    Percent(Percent),
    /// A count, an identifier.
    Count(u64),
    /// A number that may have a fraction.
    Number(Number),
}

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: &'static [&'static str]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row. It must have as many cells as there are columns.
    pub fn push<const N: usize>(&mut self, row: [Cell; N]) {
        debug_assert_eq!(N, self.columns.len(), "a row has a cell for each column");
        self.rows.push(row.into());
    }

    /// Takes the last row off again where there is no room for it; the first row is always shown. Whether there was room.
    pub fn fits(&mut self, room: &mut Room) -> bool {
        let cost = self.rows.last().map_or(0, |row| 2 + row.iter().map(Cell::cost).sum::<usize>());
        let fits = room.takes(cost) || self.rows.len() <= 1;
        if !fits {
            self.rows.pop();
        }
        fits
    }

    /// Adds a row of which nothing is known but its first cell.
    pub fn push_unknown(&mut self, first: impl Into<Cell>) {
        let mut row = vec![first.into()];
        row.resize(self.columns.len(), Cell::Unknown);
        self.rows.push(row);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Cell {
    /// How many tokens it costs at most.
    fn cost(&self) -> usize {
        match self {
            Self::Text(text) => cost::of_text(text) + 2,
            other => serde_json::to_value(other).as_ref().map_or(2, cost::of_value),
        }
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_struct("Table", 2)?;
        table.serialize_field("columns", self.columns)?;
        table.serialize_field("rows", &self.rows)?;
        table.end()
    }
}

impl JsonSchema for Table {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Table".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // What columns and rows are need not be spelled out in every tool's definition.
        json_schema!({ "type": "object", "required": ["columns", "rows"] })
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unknown => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Percent(percent) => percent.serialize(serializer),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Number(number) => number.serialize(serializer),
        }
    }
}

impl From<&'static str> for Cell {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<Number> for Cell {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<Percent> for Cell {
    fn from(percent: Percent) -> Self {
        // One decimal, even where it is zero, so that the column reads as one.
        Self::Percent(percent)
    }
}

macro_rules! cell_shows {
    ($($name:ty),*) => {$(
        impl From<$name> for Cell {
            fn from(value: $name) -> Self {
                Self::Text(value.to_string().into())
            }
        }
    )*};
}

cell_shows!(Bytes, Duration, Share);

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Into::into)
    }
}
