import type {
  DialectName,
  Json,
  NativePart,
  Part,
  RequestSetting,
  TextRequest,
  Tool,
  ToolChoice,
  Turn,
} from '../canonical/canonical.ts';
import type { Inspection } from '../dialects/inspection.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { propertiesOf } from '../dialects/request-settings.ts';
import { isReferenced } from '../emulation/tools.ts';
import { withoutPaths } from './paths.ts';

/** A request without some of its tools and calls. */
export interface Remaining extends OmittedFields {
  readonly request: TextRequest;
}

/** A request of which nothing is left out. */
export function unchanged(request: TextRequest): Remaining {
  return { request, ignored: [], dropped: [] };
}

/** What only the client's format has, as far as it is left out. */
export interface OmittableParts {
  /** Tools that the model cannot call. */
  readonly uncallable: readonly NativePart[];
  /** Tools that the provider would run, and calls that a provider ran in earlier answers. */
  readonly hosted: readonly NativePart[];
  /** Paths of advice about them. */
  readonly advice?: readonly string[];
}

export type AnyTool = Tool | NativePart;

/** The tools of a request, with those that its messages add. */
export function allTools({
  tools,
  turns,
}: Pick<TextRequest, 'tools' | 'turns'>): readonly AnyTool[] {
  return [...tools, ...turns.flatMap((turn) => turn.tools ?? [])];
}

/** A request, and its body, without some of its tools and calls. */
export function leaveOut(request: TextRequest, unwanted: OmittableParts): Remaining {
  const { uncallable, hosted, advice = [] } = unwanted;
  const removed = [...uncallable, ...hosted];
  if (removed.length + advice.length === 0) return unchanged(request);
  const { dialect, toolChoice } = request;
  const gone = new Set<unknown>(removed);
  const named = new Set(advice);
  const turns = request.turns.flatMap((turn) => turnWithout(turn, gone, dialect));
  const tools = request.tools.filter((tool) => !gone.has(tool));
  const kept = new Set<unknown>(turns.flatMap(({ parts }) => parts));
  const lost = new Set(
    request.turns.flatMap(({ parts }) => parts.filter((part) => !kept.has(part))),
  );
  const paths = [
    ...removed.filter((part) => !lost.has(part)).map(({ path }) => path),
    // A part of a message goes whole, with what stands beside its property.
    ...Array.from(lost, ({ path }) => path.replace(/\][^\]]*$/, ']')),
    ...advice,
  ];
  const left = {
    ...request,
    turns,
    tools,
    native: request.native.filter((one) => !gone.has(one)),
    advice: request.advice.filter((path) => !named.has(path)),
  };
  return {
    request: withChoice(left, withoutPaths(request.body, paths), toolChoice, removed),
    ignored: [...uncallable.map(({ path }) => path), ...advice],
    dropped: hosted.map(({ path }) => path),
  };
}

/** A turn without some parts and tools; none where nothing is left of it. */
function turnWithout(
  turn: Turn,
  gone: ReadonlySet<unknown>,
  dialect: DialectName,
): readonly Turn[] {
  const isAffected = [...turn.parts, ...(turn.tools ?? [])].some((one) => gone.has(one));
  if (!isAffected) return [turn];
  const { needsItem } = dialectNamed(dialect).reasoning;
  const parts: Part[] = [];
  for (const part of turn.parts) {
    if (!gone.has(part)) parts.push(part);
    else if (needsItem) while (parts.at(-1)?.type === 'reasoning') parts.pop();
  }
  const tools = turn.tools?.filter((tool) => !gone.has(tool)) ?? [];
  if (parts.length === 0 && tools.length === 0) return [];
  return [{ ...turn, parts, tools: tools.length > 0 ? tools : null }];
}

/** A request with a body whose choice of tools names none that is left out. */
function withChoice(
  request: TextRequest,
  { ...body }: Record<string, unknown>,
  choice: ToolChoice | null,
  removed: readonly NativePart[],
): TextRequest {
  const { settings } = dialectNamed(request.dialect);
  if (allTools(request).length === 0) {
    for (const name of CHOICES.flatMap((setting) => propertiesOf(settings, setting))) {
      delete body[name];
    }
    return { ...request, body, toolChoice: null };
  }
  if (choice?.type !== 'allowed') return { ...request, body };
  const references = choice.tools.filter((reference) => {
    return !removed.some((part) => isReferenced(part, reference));
  });
  if (references.length === choice.tools.length) return { ...request, body };
  const left = new Set<unknown>(references.map(({ value }) => value));
  body['tool_choice'] = withReferences(body['tool_choice'] as Json, left);
  return { ...request, body, toolChoice: { ...choice, tools: references } };
}

/** Settings that nothing is chosen by where a request has no tools. */
const CHOICES = ['toolChoice', 'parallelToolCalls'] as const satisfies readonly RequestSetting[];

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

/** A request for an upstream of another format, which knows none of the items that the client's format stores. */
export function withoutReferences(request: TextRequest, { uses }: Inspection): Remaining {
  const items = new Set<unknown>();
  for (const { feature, path } of uses) if (feature === 'item_reference') items.add(itemOf(path));
  const isItem = (part: Part): part is NativePart => part.type === 'native' && items.has(part.path);
  const uncallable = request.turns.flatMap(({ parts }) => parts.filter(isItem));
  const isOnly = request.turns.every(({ parts }) => parts.every(isItem));
  return leaveOut(request, { uncallable: isOnly ? [] : uncallable, hosted: [] });
}

/** The path of the item that an identifier belongs to; null for an identifier of anything else. */
export function itemOf(path: string): string | null {
  return path.endsWith('.id') ? path.slice(0, -'.id'.length) : null;
}

/** Paths of what a request has and an upstream is not sent. */
export interface OmittedFields {
  /** What changes nothing of the answer, or what this version does not know. */
  readonly ignored: readonly string[];
  /** What has a meaning, and the operator has left out. */
  readonly dropped: readonly string[];
}
