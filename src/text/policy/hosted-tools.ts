import type { TextModel } from '../../config/catalog/catalog.ts';
import { type Feature, HOSTED_TOOLS } from '../../store/features.ts';
import type { NativePart, Part, TextRequest, ToolChoice } from '../canonical/canonical.ts';
import type { Inspection, Use } from '../dialects/inspection.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { pathOf } from '../dialects/request-settings.ts';
import { UnsupportedField } from '../dialects/unsupported-field.ts';
import { isReferenced } from '../emulation/tools.ts';
import type { Allowance } from './allowance.ts';
import {
  type AnyTool,
  allTools,
  leaveOut,
  type OmittableParts,
  type Remaining,
} from './leave-out.ts';
import { isWithin, withAncestors } from './paths.ts';

const HOSTED: ReadonlySet<string> = new Set(HOSTED_TOOLS);

/** What happens to hosted tools that a route cannot have; undefined to drop what agents offer beside their own tools. */
type HostedPolicy = NonNullable<TextModel['tools']>['hosted'];

/** Features of tools that agents offer beside their own with every request: they do most tasks without. */
const OFFERED: ReadonlySet<string> = new Set<Feature>(['image_generation', 'web_search']);

/** The path of a tool in the list of a request: not of a call, or of a tool in a group. */
const LISTED = /^tools\[\d+\]$/;

/** The tools of one request that a provider runs, and their calls in earlier answers. */
export class HostedTools {
  readonly #policy: HostedPolicy;
  /** The model's public identifier. */
  readonly #id: string;
  /** Paths of all that has a part which the provider runs. */
  readonly #hosted: ReadonlySet<string>;
  /** Those of them that no agent offers unasked. */
  readonly #chosen: ReadonlySet<string>;

  private constructor(policy: HostedPolicy, id: string, uses: readonly Use[]) {
    this.#policy = policy;
    this.#id = id;
    this.#hosted = pathsOf(uses);
    this.#chosen = pathsOf(uses.filter(({ feature }) => !OFFERED.has(feature)));
  }

  /**
   * Returns null for a request with nothing that only its own format has.
   *
   * @param id the model's public identifier
   */
  static of(
    request: TextRequest,
    { uses }: Inspection,
    { tools }: TextModel,
    id: string,
  ): HostedTools | null {
    if (nativesOf(request).length === 0) return null;
    return new HostedTools(tools?.hosted, id, uses);
  }

  /** Leaves out what neither the model nor the key allows, for upstreams of any format. */
  withoutForbidden(request: TextRequest, inspection: Inspection, allowance: Allowance): Remaining {
    const forbidden = pathsOf(inspection.uses.filter(({ feature }) => !allowance.allows(feature)));
    const unwanted = this.#unwanted(request, ({ path }) => forbidden.has(path));
    const { uncallable, hosted } = unwanted;
    const drops = hosted.length > 0 && this.#reasonToKeep(request, unwanted) === null;
    const left = leaveOut(request, {
      uncallable,
      hosted: drops ? hosted : [],
      // Calls by a program are calls of the model where the program is left out.
      advice: drops ? request.advice.filter((path) => forbidden.has(path)) : [],
    });
    if (left.request === request) return left;
    // A choice may name a tool that is left out, and is left without it.
    const gone = new Set([...left.ignored, ...left.dropped, pathOf(request, 'toolChoice')]);
    inspection.forget((path) => isWithin(path, gone));
    return left;
  }

  /**
   * Leaves out what upstreams of another format cannot have.
   *
   * @param refusal why such an upstream cannot have one part
   * @throws Failure invalid_request where the model may call a tool, and the operator does not drop it
   */
  withoutNative(request: TextRequest, refusal: (part: NativePart) => string): Remaining {
    const unwanted = this.#unwanted(request, () => true);
    const [first] = unwanted.hosted;
    const reason = first === undefined ? null : this.#reasonToKeep(request, unwanted);
    if (reason !== null)
      throw new UnsupportedField(first!.path, `${refusal(first!)}; ${reason}`, null);
    return leaveOut(request, unwanted);
  }

  #unwanted(request: TextRequest, isUnwanted: (part: NativePart) => boolean): OmittableParts {
    const uncallable: NativePart[] = [];
    const hosted: NativePart[] = [];
    const tools = new Set<unknown>(allTools(request));
    for (const part of nativesOf(request)) {
      if (!isUnwanted(part)) continue;
      const canBeUsed = tools.has(part) ? isCallable(part, request) : !isServerList(part, request);
      if (!canBeUsed) uncallable.push(part);
      else if (this.#hosted.has(part.path)) hosted.push(part);
    }
    return { uncallable, hosted };
  }

  /** Why hosted tools are not left out; null where they are. */
  #reasonToKeep({ toolChoice, ...request }: TextRequest, unwanted: OmittableParts): string | null {
    const isExtra =
      this.#policy === undefined &&
      request.tools.some(({ type }) => type === 'tool') &&
      unwanted.hosted.every(({ path }) => LISTED.test(path) && !this.#chosen.has(path));
    if (this.#policy !== 'drop' && !isExtra) {
      return `the operator of this server can have what the provider runs left out (models.${this.#id}.tools.hosted: drop)`;
    }
    const gone = new Set<unknown>([...unwanted.uncallable, ...unwanted.hosted]);
    const tools = allTools(request).filter((tool) => !gone.has(tool));
    const isForced = mustCall(toolChoice, tools) || unwanted.hosted.some(isNamedBy(toolChoice));
    // A call that only a dropped tool could answer is refused with that tool.
    return isForced ? 'it is not left out, since the model must call it' : null;
  }
}

/** Paths of uses of tools that the provider runs, and of all that these are within. */
function pathsOf(uses: readonly Use[]): ReadonlySet<string> {
  const hosted = uses.filter(({ feature }) => HOSTED.has(feature));
  return new Set(hosted.flatMap(({ path }) => withAncestors(path)));
}

/** All that only the client's format has, except for parts of results. */
function nativesOf(request: TextRequest): readonly NativePart[] {
  const ofTurns = request.turns.flatMap(({ parts, tools }) => [...parts, ...(tools ?? [])]);
  const all: (Part | AnyTool)[] = [...request.tools, ...request.native, ...ofTurns];
  return all.filter((part) => part.type === 'native');
}

/** Whether the choice of tools lets the model call one. */
function isCallable(tool: NativePart, { toolChoice, dialect }: TextRequest): boolean {
  if (dialectNamed(dialect).choosesFunctionsOnly) return true;
  switch (toolChoice?.type) {
    case 'none':
      return false;
    case 'tool':
      return isNamedBy(toolChoice)(tool);
    case 'allowed':
      return toolChoice.tools.some((reference) => isReferenced(tool, reference));
    default:
      return true;
  }
}

/** Whether a choice names a tool that the provider runs: those of messages have names. */
function isNamedBy(choice: ToolChoice | null): (tool: NativePart) => boolean {
  return ({ value }) =>
    choice?.type === 'tool' && (value as { readonly name?: unknown } | null)?.name === choice.name;
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
