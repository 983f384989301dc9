//! The panes, and which of them fit next to each other.

/// The pane that keys go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    Sessions,
    Checkpoints,
    Detail,
}

/// The panes that fit next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Panes {
    /// Columns of the sessions; 0 where they are not shown.
    pub(super) sessions: u16,
    /// Columns of the checkpoints.
    pub(super) checkpoints: u16,
    /// Whether the rest shows the detail.
    pub(super) detail: bool,
}

impl Panes {
    /// Columns of the detail.
    pub(super) fn detail_width(self, width: u16) -> u16 {
        let mut used = 0;
        for pane in [self.sessions, self.checkpoints] {
            if pane > 0 {
                used += pane + 2;
            }
        }
        if self.detail { width.saturating_sub(used) } else { width }
    }
}

/// Three panes on a wide screen, two on a usual one, else the one with the keys.
pub(super) fn panes(width: u16, focus: Focus) -> Panes {
    let (wide, usual) = (width >= 120, width >= 84);
    let share = |percent: u32| u16::try_from(u32::from(width) * percent / 100).unwrap_or(0);
    match (wide, usual, focus) {
        (true, ..) => Panes {
            sessions: 26,
            checkpoints: share(32),
            detail: true,
        },
        (_, true, Focus::Sessions) => Panes {
            sessions: 30,
            checkpoints: width.saturating_sub(32),
            detail: false,
        },
        (_, true, _) => Panes {
            sessions: 0,
            checkpoints: share(40),
            detail: true,
        },
        (_, _, Focus::Sessions) => Panes {
            sessions: width,
            checkpoints: 0,
            detail: false,
        },
        (_, _, Focus::Checkpoints) => Panes {
            sessions: 0,
            checkpoints: width,
            detail: false,
        },
        _ => Panes {
            sessions: 0,
            checkpoints: 0,
            detail: true,
        },
    }
}
