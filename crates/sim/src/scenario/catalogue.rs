//! Everything that can be chosen by name in a scenario, for `wifair list`.

use wifair_config::{Description, Shape};

/// A named choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueItem {
    /// The key that chooses it, as in `flows.tcp.cc`.
    pub key: String,
    /// Its name in a scenario, as in `vegas`.
    pub name: &'static str,
    /// A one-line description.
    pub summary: String,
    /// Where it comes from.
    pub source: Option<&'static str>,
    /// Whether the source gives only an outline, so that details had to be filled in.
    pub outline: bool,
}

/// Everything that can be chosen by name, key by key in the order of the reference. A key that occurs in several
/// places, such as that of a queue, is listed once, at its first place.
pub fn catalogue() -> Vec<CatalogueItem> {
    let mut items = Vec::new();
    collect(super::description(), "", &mut Vec::new(), &mut items);
    items
}

fn collect(table: &Description, path: &str, seen: &mut Vec<Vec<&'static str>>, items: &mut Vec<CatalogueItem>) {
    let full = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for key in &table.keys {
        match key.shape.inner() {
            Shape::Choice(choice) => {
                let names: Vec<&str> = choice.variants.iter().map(|variant| variant.name).collect();
                if seen.contains(&names) {
                    continue;
                }
                seen.push(names);
                items.extend(choice.variants.iter().map(|variant| CatalogueItem {
                    key: full(key.name),
                    name: variant.name,
                    summary: variant.summary(),
                    source: variant.source,
                    outline: variant.outline,
                }));
                for variant in &choice.variants {
                    if let Some(params) = &variant.params {
                        collect(params, &full(variant.name), seen, items);
                    }
                }
            }
            Shape::Table(inner) => collect(inner, &full(key.name), seen, items),
            Shape::List(list) => {
                if let Shape::Table(inner) = list.inner() {
                    collect(inner, &full(key.name), seen, items);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::catalogue;

    #[test]
    fn descriptions_are_whole_sentences() {
        let cut: Vec<String> =
            catalogue().into_iter().map(|item| item.summary).filter(|summary| !summary.ends_with(['.', ')'])).collect();
        assert_eq!(cut, Vec::<String>::new());
    }
}
