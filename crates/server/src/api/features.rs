//! The 17 features of the product and where each of them is.

pub(crate) struct Feature {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) internal_only: bool,
    /// Pages of the dashboard.
    pub(crate) surfaces: &'static [&'static str],
    pub(crate) notes: &'static str,
}

const fn covered(
    id: &'static str,
    name: &'static str,
    surfaces: &'static [&'static str],
    notes: &'static str,
) -> Feature {
    Feature { id, name, internal_only: false, surfaces, notes }
}

#[rustfmt::skip]
pub(crate) const FEATURES: [Feature; 17] = [
    covered("dashboard-home", "Home", &["/"], "Where a client finds out what the service is and who it is itself."),
    covered("post-composer-and-library", "Posts", &["/posts", "/posts/new"], "Writing, ordering, finding and publishing posts."),
    covered("schedule", "Schedule", &["/schedule"], "The publish queue: what goes out when, and what stands in the way."),
    covered("analytics", "Analytics", &["/analytics"], "The figures of the dashboard."),
    covered("connections", "Connections", &["/connections"], "Platforms and connected accounts; interactive connecting needs a browser session."),
    covered("media-library", "Media library", &["/media"], "Images and videos, imported or uploaded."),
    covered("inbox", "Inbox", &["/inbox"], "What people say to the brand."),
    covered("notifications", "Notifications", &["/notifications"], "What needs a person's attention."),
    covered("review", "Review", &["/review"], "Approvals and comments before publishing."),
    covered("webhooks", "Webhooks", &["/settings/webhooks"], "Events sent to endpoints of your own."),
    covered("api-keys", "API keys", &["/settings/keys"], "Keys are made and revoked in a session, never by another key."),
    covered("settings-and-profile", "Settings", &["/settings"], "Profile, password and the brand's schedule."),
    covered("audit-logs", "Audit log", &["/settings/audit"], "Who did what, in a chain that shows tampering."),
    covered("brands", "Brands", &["/brands"], "Brands are listed here; managing them needs a session."),
    Feature { id: "designer-labs", name: "Design tools", internal_only: true, surfaces: &["/labs"], notes: "Embedded design tools live in the dashboard alone." },
    covered("youtube-advanced", "Video hosting", &["/videohost"], "Playlists, comments, captions, live: not needed for plain publishing."),
    covered("ai-video-budget-usage", "AI video and budget", &["/ai"], "Video generation and what it costs."),
];
