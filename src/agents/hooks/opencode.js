// Saves a checkpoint for each turn. Written by 'git checkpoint enable'; 'git checkpoint disable' removes it.
import { spawnSync } from "node:child_process"

const PROGRAM = @PROGRAM@

// A failure here must never disturb the agent.
const call = (event, payload) => {
  try {
    const child = spawnSync(PROGRAM, ["hook", "opencode", event], {
      input: JSON.stringify(payload), encoding: "utf8", timeout: 20000, stdio: ["pipe", "pipe", "ignore"],
    })
    return child.stdout ? JSON.parse(child.stdout) : null
  } catch {
    return null
  }
}

export const GitCheckpoint = async ({ client, directory }) => {
  const helpers = new Set()
  const context = new Map()
  let pending = Promise.resolve()
  const messages = async (id) => {
    try {
      return (await client.session.messages({ path: { id } })).data || []
    } catch {
      return []
    }
  }
  const turn = async (event, id) => {
    const all = await messages(id)
    const user = all.filter((message) => message.info?.role === "user").pop()
    let info = { id, directory }
    try {
      info = (await client.session.get({ path: { id } })).data || info
    } catch {}
    call(event, { sessionID: id, directory, parentID: user?.info?.id, export: { info, messages: all } })
  }
  return {
    "chat.message": async (input, output) => {
      if (helpers.has(input.sessionID)) return
      const texts = (output.parts || []).filter((part) => part.type === "text" && !part.synthetic)
      const answer = call("prompt", {
        sessionID: input.sessionID, directory, parentID: output.message?.id,
        prompt: texts.map((part) => part.text).join("\n"),
      })
      if (answer?.additionalContext) context.set(input.sessionID, answer.additionalContext)
    },
    "experimental.chat.system.transform": async (input, output) => {
      const text = context.get(input?.sessionID)
      if (text && output?.system) output.system.push(text)
    },
    "experimental.session.compacting": async (input) => {
      if (!helpers.has(input.sessionID)) await turn("compacting", input.sessionID)
    },
    event: async ({ event }) => {
      if (event.type === "session.created" && event.properties?.info?.parentID) helpers.add(event.properties.info.id)
      const id = event.properties?.sessionID
      if (event.type === "session.idle" && !helpers.has(id)) pending = turn("idle", id)
      await pending
    },
    dispose: async () => {
      await pending
    },
  }
}
