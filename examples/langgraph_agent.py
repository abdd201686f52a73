"""LangGraph with a memory: `recall` and `keep` go around whatever your graph does.

pip install langgraph openai wakebook
"""

import os

from langchain_core.messages import AIMessage, convert_to_openai_messages
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from openai import OpenAI

from wakebook import Conversation, Memory

memory = Memory()
client = OpenAI()  # OPENAI_API_KEY, OPENAI_BASE_URL


class State(MessagesState):
    memory: str


def session(config: RunnableConfig) -> Conversation:
    return memory.session(config["configurable"]["thread_id"])


def recall(state: State, config: RunnableConfig) -> dict[str, str]:
    return {"memory": session(config).context(state["messages"][-1].text).text}


def answer(state: State) -> dict[str, list[AIMessage]]:
    system = {"role": "system", "content": f"You have a memory.\n\n{state['memory']}"}
    messages = [system, *convert_to_openai_messages(state["messages"])]
    done = client.chat.completions.create(model=os.environ["MODEL"], messages=messages)
    return {"messages": [AIMessage(done.choices[0].message.content)]}


def keep(state: State, config: RunnableConfig) -> None:
    for message in state["messages"]:  # each has an id: it is written once
        session(config).add(message)


graph = StateGraph(State).add_sequence([recall, answer, keep]).add_edge(START, "recall").compile()
# graph.invoke({"messages": "Hello"}, {"configurable": {"thread_id": "monday"}})
# memory.session("monday").end()
