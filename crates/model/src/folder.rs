//! Folders: a tree for posts and one for media, each with its own scopes.

use crate::{
    input,
    label::{FolderPath, Name},
    scope::Scope,
    words,
};

words! {
    /// Which tree a folder stands in.
    pub enum Tree { Posts = "posts", Media = "media" }
}

impl Tree {
    pub fn read_scope(self) -> Scope {
        match self {
            Self::Posts => Scope::PostsRead,
            Self::Media => Scope::MediaRead,
        }
    }

    pub fn write_scope(self) -> Scope {
        match self {
            Self::Posts => Scope::PostsWrite,
            Self::Media => Scope::MediaWrite,
        }
    }
}

input! {
    /// A folder to create: either `folder_path`, or `name` with an optional `parent_path`.
    #[schemars(extend("examples" = [{ "scope": "posts", "folder_path": "campaigns/2026" }]))]
    pub struct NewFolder {
        scope: Tree,
        name: Option<Name>,
        /// Absent for a folder at the top.
        parent_path: Option<FolderPath>,
        folder_path: Option<FolderPath>,
    }
}

input! {
    /// A folder to rename (`name`) or to move (`new_path`, or `parent_path`).
    #[schemars(extend("examples" = [
        { "scope": "posts", "folder_path": "campaigns/2026", "name": "2027" }
    ]))]
    pub struct FolderMove {
        scope: Tree,
        /// Where the folder is now.
        folder_path: FolderPath,
        /// A new name in the same place.
        name: Option<Name>,
        /// A new parent; `null` moves the folder to the top.
        parent_path: Option<Option<FolderPath>>,
        /// The whole new path.
        new_path: Option<FolderPath>,
    }
}

input! {
    #[schemars(extend("examples" = [{ "scope": "posts", "folder_path": "campaigns/2027" }]))]
    pub struct FolderRemoval {
        scope: Tree,
        folder_path: FolderPath,
    }
}
