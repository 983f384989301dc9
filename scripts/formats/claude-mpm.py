"""Drives one installed version of claude-mpm without a model, in a small repository.

Usage: claude-mpm.py write DIR     pauses a session in the repository DIR, as a user would
       claude-mpm.py read DIR      prints what the program's own reader sees in DIR, as JSON

Run by scripts/formats/real with the python of the version's own environment.
"""

import json
import sys
from pathlib import Path


def write(project):
    try:
        # 4.11
        from claude_mpm.cli.commands.session_pause_manager import SessionPauseManager

        SessionPauseManager(project).pause_session(
            conversation_summary="Half of the tide tables are parsed, do not touch lexer.rs",
            accomplishments=["Parse the harbour names", "Umlauts in Pieräste work"],
            next_steps=["Parse the heights", "Run the slow tests"],
            todos_active=[{"content": "Rename the crate", "status": "in_progress"}],
            todos_completed=[{"content": "Read the tables", "status": "completed"}],
        )
        return
    except ImportError:
        pass
    from claude_mpm.services.cli.session_pause_manager import SessionPauseManager

    SessionPauseManager(project).create_pause_session(
        message="Half of the tide tables are parsed,\ndo not touch lexer.rs", skip_commit=True
    )
    try:
        from claude_mpm.services.cli.incremental_pause_manager import IncrementalPauseManager
    except ImportError:
        return
    pause = IncrementalPauseManager(project)
    pause.start_incremental_pause(context_percentage=0.91, initial_state={"reason": "threshold"})
    pause.append_action("user_message", {"content": "parse the heights too"}, 0.92)
    pause.append_action("tool_call", {"tool": "Read", "path": "src/tide.rs"}, 0.93)
    pause.append_action("assistant_response", {"summary": "The heights are in feet."}, 0.94)


def read(project):
    try:
        # 4.11
        from claude_mpm.cli.commands.session_resume_manager import SessionResumeManager

        found = SessionResumeManager(project).resume_session()
    except ImportError:
        from claude_mpm.services.cli.session_resume_helper import SessionResumeHelper

        helper = SessionResumeHelper(project)
        session = helper.get_most_recent_session()
        # What a person is shown must not fail either.
        text = helper.format_resume_prompt(session) if session else ""
        found = {"session": session, "text": text}
    print(json.dumps(found, default=str, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]).resolve())
