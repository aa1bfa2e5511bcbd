import * as v from 'valibot';
import type { ModelType } from '../config/providers/provider-kind.ts';
import { Failure } from '../failure.ts';
import { field, integer, number } from '../schema/fields.ts';
import { objectOf } from '../schema/untrusted.ts';
import { toCredits } from '../store/credits.ts';
import { defined } from './budget-options.ts';
import { aliasesOrNone, credits } from './fields.ts';

type Json = Readonly<Record<string, unknown>>;

const price = (unit: string) => v.optional(credits(`credits per ${unit}`, '0'));

const text = (maxLength: number, description: string, expects?: string) =>
  v.optional(
    field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(maxLength)), description, {
      expects: expects ?? `a text of at most ${maxLength} characters`,
    }),
  );

export const modelSettings = {
  alias: v.optional(aliasesOrNone('further names for it')),
  priority: v.optional(
    field(number(0, 1_000_000), 'the route of the highest priority is tried first (1)'),
  ),
  dialect: text(
    64,
    'wire format of requests to the provider',
    'chat, responses, messages or gemini',
  ),
  inputPrice: price('million tokens of input'),
  cachedInputPrice: price('million tokens of input from a cache'),
  outputPrice: price('million tokens of output'),
  price: price('image, video or request, for models of other types'),
  contextWindow: v.optional(field(integer(1), 'tokens that it can read')),
  maxOutputTokens: v.optional(field(integer(1), 'tokens of its largest response')),
  description: text(2000, 'description in the catalog'),
};

export type ModelSettings = v.InferOutput<v.ObjectSchema<typeof modelSettings, undefined>>;

/** Names of the price of one request, by the type of the model. */
const UNIT_PRICES: Partial<Record<ModelType, string>> = { image: 'perImage', video: 'perVideo' };

/** Prices after a change. Tiers of the catalog go with its prices. */
function priceOf(type: ModelType, before: Json, given: ModelSettings): Json {
  const tokens = [
    ['input', given.inputPrice],
    ['cachedInput', given.cachedInputPrice],
    ['output', given.outputPrice],
    [UNIT_PRICES[type] ?? 'perRequest', given.price],
  ] as const;
  const set = tokens.flatMap(([unit, micro]) =>
    micro === undefined ? [] : [[unit, toCredits(micro)] as const],
  );
  const { tiers, ...others } = before;
  return {
    ...others,
    ...(tiers !== undefined && set.length === 0 && { tiers }),
    ...Object.fromEntries(set),
  };
}

/** Settings of a model after a change, without its routes. */
export function settingsOf({ aliases, ...before }: Json, given: ModelSettings): Json {
  const { alias, contextWindow, maxOutputTokens, description } = given;
  const named = alias === undefined ? aliases : (alias ?? undefined);
  const price = priceOf(before['type'] as ModelType, objectOf(before['price']), given);
  return {
    ...before,
    ...defined({ contextWindow, maxOutputTokens, description, aliases: named }),
    price,
  };
}

export const routeOf = (provider: string, model: string, given: ModelSettings) => ({
  ...{ provider, model },
  ...defined({ priority: given.priority, dialect: given.dialect }),
});

/** The options as they are in the audit log: credits as decimals. */
export function detailsOf(given: ModelSettings): Json {
  const details = Object.entries(given).map(([name, value]) => {
    const isPrice = typeof value === 'number' && /price$/i.test(name);
    return [name, isPrice ? toCredits(value) : value === null ? 'none' : value];
  });
  return Object.fromEntries(details);
}

/** The route of a provider that is changed or added, and the provider whose routes are removed. */
interface RouteChange extends ModelSettings {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly without?: string | undefined;
}

/** The routes of a model after a change. */
export function routesOf(before: readonly Json[], change: RouteChange): readonly Json[] {
  const { model, without, priority, dialect } = change;
  const kept = before.filter((route) => route['provider'] !== without);
  if (without !== undefined && (kept.length === before.length || kept.length === 0)) {
    const problem = kept.length === 0 ? 'the last route cannot be removed' : 'no route is of it';
    throw new Failure('invalid_request', `without: expected a provider of a route; ${problem}`);
  }
  const only = kept.length === 1 ? String(kept[0]!['provider']) : undefined;
  const { provider = only } = change;
  if ([change.provider, model, priority, dialect].every((one) => one === undefined)) return kept;
  if (provider === undefined) {
    throw new Failure('invalid_request', 'provider: expected the one whose route is to be changed');
  }
  const at = kept.findIndex((route) => route['provider'] === provider);
  const name = model ?? kept[at]?.['model'];
  if (name === undefined) {
    const message = "model: expected the provider's name of the model for the new route";
    throw new Failure('invalid_request', message);
  }
  const route = { ...kept[at], ...routeOf(provider, String(name), change) };
  return at === -1 ? [...kept, route] : kept.with(at, route);
}
