// Saves a checkpoint for each turn. Written by 'git checkpoint enable'; 'git checkpoint disable' removes it.
import { spawnSync } from "node:child_process"

const PROGRAM = @PROGRAM@

// A failure here must never disturb the agent.
const call = (event, payload, ctx) => {
  try {
    const manager = ctx.sessionManager
    const about = {
      session_id: manager.getSessionId(), session_file: manager.getSessionFile(), cwd: ctx.cwd,
      leaf: manager.getLeafId?.(),
    }
    const child = spawnSync(PROGRAM, ["hook", "pi", event], {
      input: JSON.stringify({ ...payload, ...about }), encoding: "utf8", timeout: 20000,
      stdio: ["pipe", "pipe", "ignore"],
    })
    return child.stdout ? JSON.parse(child.stdout) : null
  } catch {
    return null
  }
}

export default function (pi) {
  pi.on("before_agent_start", async (event, ctx) => {
    const answer = call("before_agent_start", { prompt: event.prompt }, ctx)
    if (!answer?.additionalContext) return undefined
    return { message: { customType: "git-checkpoint", content: answer.additionalContext, display: false } }
  })
  pi.on("agent_settled", async (event, ctx) => {
    call("agent_settled", { aborted: event.aborted }, ctx)
  })
  pi.on("session_before_compact", async (event, ctx) => {
    call("session_before_compact", {}, ctx)
  })
}
