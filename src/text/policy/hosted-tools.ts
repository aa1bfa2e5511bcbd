import type { TextModel } from '../../config/catalog.ts';
import type { Feature } from '../../store/features.ts';
import type { Json, NativePart, TextRequest, ToolChoice } from '../canonical.ts';
import { Inspection } from '../dialects/inspection.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { isReferenced } from '../emulation/allowed-tools.ts';
import type { Allowance } from './allowance.ts';

/** Features of tools that the provider runs. */
const HOSTED: ReadonlySet<string> = new Set<Feature>([
  'advisor',
  'code_interpreter',
  'computer_use',
  'file_search',
  'image_generation',
  'mcp',
  'web_fetch',
  'web_search',
]);

/** Whether hosted tools that a route cannot have are refused or left out. */
export type HostedPolicy = NonNullable<NonNullable<TextModel['tools']>['hosted']>;

/** A request without hosted tools, and the paths of those. */
export interface WithoutTools {
  readonly request: TextRequest;
  /** Their paths. */
  readonly leftOut: readonly string[];
}

/** The tools of one request that only its own format has, and what may become of them. */
export class HostedTools {
  readonly #policy: HostedPolicy;
  /** Paths of tools and properties that the provider runs. */
  readonly #hosted: ReadonlySet<string>;

  private constructor(policy: HostedPolicy, hosted: ReadonlySet<string>) {
    this.#policy = policy;
    this.#hosted = hosted;
  }

  /** Returns null for a request with nothing that only its own format has. */
  static of(request: TextRequest, { uses }: Inspection, policy: HostedPolicy): HostedTools | null {
    const natives = [...request.tools, ...request.native].filter((part) => part.type === 'native');
    if (natives.length === 0) return null;
    const hosted = new Set<string>();
    let all = uses;
    if (policy === 'drop' && uses.length === 0) {
      // Requests that stay on this server are not inspected.
      const inspection = new Inspection();
      dialectNamed(request.dialect).fields.check(request.body, inspection, request.body);
      all = inspection.uses;
    }
    for (const { path, feature } of all) if (HOSTED.has(feature)) hosted.add(path);
    return new HostedTools(policy, hosted);
  }

  /** Leaves out what neither the model nor the key allows, for upstreams of any format. */
  withoutForbidden(
    request: TextRequest,
    inspection: Inspection,
    allowance: Allowance,
  ): WithoutTools {
    const forbidden = (path: string) =>
      inspection.uses.some(
        (use) =>
          isWithin(use.path, path) && HOSTED.has(use.feature) && !allowance.allows(use.feature),
      );
    const left = this.#without(request, (part) => forbidden(part.path));
    if (left.leftOut.length > 0) {
      // A choice may name a tool that is left out, and is left without it.
      const gone = [...left.leftOut, 'tool_choice'];
      inspection.forget((path) => gone.some((one) => isWithin(path, one)));
    }
    return left;
  }

  /** Leaves out what upstreams of another format cannot have. */
  withoutNative(request: TextRequest): WithoutTools {
    return this.#without(request, () => true);
  }

  #without(request: TextRequest, isUnwanted: (part: NativePart) => boolean): WithoutTools {
    const uncallable: NativePart[] = [];
    const dropped: NativePart[] = [];
    for (const part of [...request.tools, ...request.native]) {
      if (part.type !== 'native' || !isUnwanted(part)) continue;
      const isTool = request.tools.includes(part);
      if (isTool ? !isCallable(part, request) : isServerList(part, request)) uncallable.push(part);
      else if (this.#policy === 'drop' && this.#hosted.has(part.path)) dropped.push(part);
    }
    const gone = new Set<unknown>([...uncallable, ...dropped]);
    const tools = request.tools.filter((tool) => !gone.has(tool));
    // A call that only a dropped tool could answer is refused with that tool.
    if (dropped.length > 0 && mustCall(request.toolChoice, tools)) {
      return { request, leftOut: [] };
    }
    if (gone.size === 0) return { request, leftOut: [] };
    return {
      request: without(request, gone, tools),
      leftOut: [...uncallable, ...dropped].map(({ path }) => path),
    };
  }
}

/** Whether a path is another one or within it. */
function isWithin(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}.`) || path.startsWith(`${other}[`);
}

/** Whether the choice of tools lets the model call one. */
function isCallable(tool: NativePart, { toolChoice }: TextRequest): boolean {
  switch (toolChoice?.type) {
    case 'none':
    case 'tool':
      return false;
    case 'allowed':
      return toolChoice.tools.some((reference) => isReferenced(tool, reference));
    default:
      return true;
  }
}

/** Whether the model must call a tool of which none is left. */
function mustCall(choice: ToolChoice | null, left: TextRequest['tools']): boolean {
  switch (choice?.type) {
    case 'native':
      return true;
    case 'required':
      return left.length === 0;
    case 'allowed': {
      const isLeft = choice.tools.some((one) => left.some((tool) => isReferenced(tool, one)));
      return choice.mode === 'required' && !isLeft;
    }
    default:
      return false;
  }
}

/** Whether a property lists servers of tools, of which the model can call none. */
function isServerList({ path }: NativePart, { toolChoice }: TextRequest): boolean {
  return path === 'mcp_servers' && toolChoice?.type === 'none';
}

function without(
  request: TextRequest,
  gone: ReadonlySet<unknown>,
  tools: TextRequest['tools'],
): TextRequest {
  const body: Record<string, unknown> = { ...request.body };
  const removed = [...gone] as NativePart[];
  for (const { path } of removed) if (!path.includes('[')) delete body[path];
  const indexes = new Set(removed.map(({ path }) => Number(/^tools\[(\d+)\]/.exec(path)?.[1])));
  const list = (body['tools'] ?? []) as readonly unknown[];
  const kept = list.filter((_, index) => !indexes.has(index));
  let { toolChoice } = request;
  if (kept.length > 0) body['tools'] = kept;
  else {
    for (const name of ['tools', 'tool_choice', 'parallel_tool_calls']) delete body[name];
    toolChoice = null;
  }
  if (toolChoice?.type === 'allowed') {
    const references = toolChoice.tools.filter((reference) => {
      return !removed.some((part) => isReferenced(part, reference));
    });
    const left = new Set<unknown>(references.map(({ value }) => value));
    if (left.size < toolChoice.tools.length) {
      body['tool_choice'] = withReferences(body['tool_choice'] as Json, left);
      toolChoice = { ...toolChoice, tools: references };
    }
  }
  return {
    ...request,
    body,
    tools,
    toolChoice,
    native: request.native.filter((part) => !gone.has(part)),
  };
}

/** A choice among tools with those of its references that are left. */
function withReferences(choice: Json, left: ReadonlySet<unknown>): Json {
  return Object.fromEntries(
    Object.entries(choice).map(([name, value]) => {
      if (Array.isArray(value)) return [name, value.filter((one) => left.has(one))];
      const isObject = typeof value === 'object' && value !== null;
      return [name, isObject ? withReferences(value as Json, left) : value];
    }),
  );
}
