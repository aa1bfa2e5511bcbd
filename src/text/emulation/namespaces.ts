import type { Namespace, Part, TextRequest, Tool } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import { type RequestEmulation, withCalls } from './emulation.ts';

/** Tools in groups: their names get the name of the group as a prefix. */
export function emulateNamespaces(request: TextRequest): RequestEmulation | null {
  const calls = request.turns.some(({ parts }) => parts.some(isGrouped));
  const isUsed = calls || request.tools.some((tool) => tool.type === 'tool' && tool.namespace);
  if (!isUsed) return null;
  const names = new FlatNames(request);
  const { toolChoice } = request;
  return {
    request: {
      ...request,
      tools: flatTools(request.tools, names),
      turns: request.turns.map((turn) =>
        withCalls(turn, (call) => {
          const { namespace, ...own } = call;
          return namespace === undefined ? call : { ...own, name: names.of(call.name, namespace) };
        }),
      ),
      toolChoice:
        toolChoice?.type === 'tool'
          ? { type: 'tool', name: names.of(toolChoice.name, namespaceOf(toolChoice, request)) }
          : toolChoice,
    },
    filter:
      ({ emit }) =>
      (event) =>
        emit(event.type === 'tool-start' ? names.grouped(event) : event),
  };
}

type ToolStart = TextEvent & { readonly type: 'tool-start' };

/** The namespace of a chosen tool: clients may name the tool alone. */
function namespaceOf(
  { name, namespace }: { readonly name: string; readonly namespace?: string },
  { tools }: TextRequest,
): string | undefined {
  if (namespace !== undefined) return namespace;
  const tool = tools.find((one): one is Tool => one.type === 'tool' && one.name === name);
  return tool?.namespace?.name;
}

function isGrouped(part: Part): boolean {
  return part.type === 'tool-call' && part.namespace !== undefined;
}

/** Names of grouped tools for an upstream without groups. */
class FlatNames {
  readonly #taken = new Set<string>();
  readonly #flat = new Map<string, string>();
  readonly #grouped = new Map<string, { readonly name: string; readonly namespace: string }>();

  constructor({ tools }: TextRequest) {
    for (const tool of tools) {
      if (tool.type === 'tool' && !tool.namespace) this.#taken.add(tool.name);
    }
  }

  of(name: string, namespace: string | undefined): string {
    if (namespace === undefined) return name;
    const key = JSON.stringify([namespace, name]);
    const known = this.#flat.get(key);
    if (known !== undefined) return known;
    let flat = namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`;
    while (this.#taken.has(flat)) flat += '_';
    this.#taken.add(flat);
    this.#flat.set(key, flat);
    this.#grouped.set(flat, { name, namespace });
    return flat;
  }

  grouped(event: ToolStart): ToolStart {
    return { ...event, ...this.#grouped.get(event.name) };
  }
}

/** The first tool of each namespace gets the namespace's description, which the model reads once. */
function flatTools(tools: TextRequest['tools'], names: FlatNames): TextRequest['tools'] {
  const described = new Set<string>();
  return tools.map((tool) => {
    if (tool.type === 'native' || !tool.namespace) return tool;
    const { namespace, ...rest } = tool;
    const isFirst = !described.has(namespace.name);
    described.add(namespace.name);
    return {
      ...rest,
      name: names.of(tool.name, namespace.name),
      description: isFirst ? withNamespace(tool.description, namespace) : tool.description,
    };
  });
}

function withNamespace(description: string | null, namespace: Namespace): string | null {
  if (namespace.description === null) return description;
  const about = `Tools of ${namespace.name}: ${namespace.description}`;
  return description === null ? about : `${description}\n\n${about}`;
}
