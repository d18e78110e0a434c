//! What the clients know of their posts: what they asked for, and what they were answered.

use campanile_model::time::Millis;

/// The text of a post says which one it is, so that no two are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) post: u64,
    /// Parts of a thread are counted from 0.
    pub(crate) part: u32,
    /// Every edit makes a new wording.
    pub(crate) wording: u32,
}

impl Words {
    pub(crate) fn text(self) -> String {
        format!("post {} part {} wording {}", self.post, self.part, self.wording)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut after = |name: &str| words.next().filter(|word| *word == name).and(words.next());
        let post = after("post")?.parse().ok()?;
        let part = after("part")?.parse().ok()?;
        let wording = after("wording")?.parse().ok()?;
        Some(Self { post, part, wording })
    }
}

/// One post, as its client sees it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// What the service calls it; empty when it never said that it has it.
    pub(crate) id: String,
    pub(crate) accounts: Vec<String>,
    pub(crate) parts: u32,
    /// When its client first thought of it.
    pub(crate) begun: Millis,
    /// The newest wording that was sent, and the newest that the service said it has.
    pub(crate) sent: u32,
    pub(crate) acknowledged: u32,
    /// Whether the service said that it will publish it.
    pub(crate) planned: bool,
    pub(crate) not_before: Millis,
    /// Whether somebody asked to cancel it, with whatever answer.
    pub(crate) may_be_canceled: bool,
    /// When the service said that nothing of it will go out any more.
    pub(crate) stopped_at: Option<Millis>,
    pub(crate) deleted: bool,
}

impl Entry {
    pub(crate) fn new(number: u64, accounts: Vec<String>, parts: u32, begun: Millis) -> Self {
        Self {
            number,
            id: String::new(),
            accounts,
            parts,
            begun,
            sent: 0,
            acknowledged: 0,
            planned: false,
            not_before: 0,
            may_be_canceled: false,
            stopped_at: None,
            deleted: false,
        }
    }

    pub(crate) fn text(&self, part: u32) -> String {
        Words { post: self.number, part, wording: self.sent }.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_which_post_they_are() {
        let words = Words { post: 12, part: 1, wording: 3 };

        assert_eq!(Words::parse(&words.text()), Some(words));
        assert_eq!(Words::parse("post 12 part x wording 3"), None);
        assert_eq!(Words::parse("something else"), None);
    }
}
