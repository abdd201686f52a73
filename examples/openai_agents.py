"""The OpenAI Agents SDK with a memory: `instructions` recall, `turn` keeps what is said and done.

pip install openai-agents wakebook
"""

import os

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    RunContextWrapper,
    Runner,
    SQLiteSession,
    function_tool,
)
from openai import AsyncOpenAI

from wakebook import Conversation, Memory

memory = Memory()


@function_tool
def memory_search(query: str) -> str:
    """Search what is remembered from earlier sessions."""
    return "\n".join(hit.snippet for hit in memory.search(query).hits)


def instructions(run: RunContextWrapper[Conversation], agent: Agent[Conversation]) -> str:
    chat = run.context
    return "You have a memory.\n\n" + chat.context(chat.messages()[-1]["content"] or "").text


model = OpenAIChatCompletionsModel(
    os.environ["MODEL"], AsyncOpenAI()
)  # OPENAI_API_KEY, OPENAI_BASE_URL
agent = Agent[Conversation]("Helper", instructions=instructions, model=model, tools=[memory_search])


def turn(chat: Conversation, session: SQLiteSession, text: str) -> str:
    chat.user(text)
    done = Runner.run_sync(agent, text, context=chat, session=session)
    for item in done.new_items:
        chat.add(item.to_input_item())
    return str(done.final_output)


# with memory.session("monday") as chat:
#     print(turn(chat, SQLiteSession(chat.id), input("> ")))
