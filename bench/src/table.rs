//! A table of texts, aligned for the terminal or as Markdown.

use serde::Serialize;

/// A header and rows of equal length.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(header: &[&str], rows: Vec<Vec<String>>) -> Self {
        let header = header.iter().map(|&cell| cell.to_owned()).collect();
        Self { header, rows }
    }

    /// Columns padded to their widest cell.
    pub(crate) fn to_text(&self) -> String {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let width = |column: usize| {
            lines()
                .filter_map(|line| line.get(column))
                .map(|cell| visible(cell))
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let mut text = String::new();
        for line in lines() {
            let cells = line.iter().zip(&widths).map(|(cell, width)| {
                let cell = cell.replace("**", "");
                format!(
                    "{cell}{}",
                    " ".repeat(width.saturating_sub(cell.chars().count()))
                )
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    pub(crate) fn to_markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = line(&self.header);
        text.push_str(&format!("|{}\n", "---|".repeat(self.header.len())));
        for row in &self.rows {
            text.push_str(&line(row));
        }
        text
    }
}

/// Characters, without the marks that only Markdown shows as emphasis.
fn visible(cell: &str) -> usize {
    cell.replace("**", "").chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        Table::new(
            &["what", "n"],
            vec![row(["a", "1"]), row(["longer", "**no**"])],
        )
    }

    #[test]
    fn columns_line_up_in_the_terminal() {
        assert_eq!(table().to_text(), "what    n\na       1\nlonger  no\n");
    }

    #[test]
    fn markdown_keeps_its_emphasis() {
        let expected = "| what | n |\n|---|---|\n| a | 1 |\n| longer | **no** |\n";
        assert_eq!(table().to_markdown(), expected);
    }
}
