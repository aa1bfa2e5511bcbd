import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { MODEL_TYPES } from '../../config/providers/provider-kind.ts';
import type { Provider } from '../../config/providers/provider-kinds.ts';
import { keysOf } from '../../config/providers/provider-kinds.ts';
import type { Config } from '../../config/settings/schema.ts';
import type { ProviderAttempts, ProviderFailure } from '../../routing/provider-health.ts';
import { field } from '../../schema/fields.ts';
import { matchesPattern } from '../../schema/pattern.ts';
import type { AppContext } from '../request/app-context.ts';
import { addEndpoint } from '../request/endpoint.ts';
import { seconds } from '../request/query.ts';
import { type CurrentCooldowns, currentCooldowns } from '../routes/server/health.ts';

const cooldown = { reason: v.string(), until: field(v.string(), 'ISO 8601') };

const PROVIDER_STATES = ['ok', 'unused', 'failing', 'wrong_key', 'forbidden', 'no_credit'] as const;

const modelShape = v.object({
  id: v.string(),
  type: v.picklist(MODEL_TYPES),
  aliases: v.array(v.string()),
  routes: v.array(
    v.object({
      provider: v.string(),
      model: field(v.string(), "the provider's name of the model"),
      resting: v.nullable(v.object(cooldown)),
    }),
  ),
});

const providerShape = v.object({
  name: v.string(),
  kind: v.string(),
  state: field(
    v.picklist(PROVIDER_STATES),
    'by the last attempt; wrong_key for 401, forbidden for 403, no_credit for 402',
  ),
  problem: field(v.nullable(v.string()), 'what the operator has to mend'),
  keys: v.number(),
  resting_keys: v.array(v.object({ key: v.string(), ...cooldown })),
  attempts: v.number(),
  last_success: v.nullable(v.number()),
  failures: field(
    v.array(
      v.object({
        at: v.number(),
        type: v.string(),
        code: v.nullable(v.string()),
        status: v.nullable(v.number()),
        message: v.string(),
        key: v.nullable(v.string()),
      }),
    ),
    'the last five, newest first',
  ),
});

const catalogShape = v.object({
  object: v.literal('catalog'),
  models: v.array(modelShape),
  providers: v.array(providerShape),
});

/** Answer of `GET /v1/admin/models`. */
export type CatalogAnswer = v.InferOutput<typeof catalogShape>;

type ProviderState = (typeof PROVIDER_STATES)[number];

function stateOf({ attempts, lastSuccess, failures: [last] }: ProviderAttempts): ProviderState {
  if (attempts === 0) return 'unused';
  if (last === undefined || (lastSuccess ?? 0) > last.at) return 'ok';
  if (last.code === 'upstream_quota') return 'no_credit';
  if (last.code !== 'upstream_auth') return 'failing';
  return last.status === 403 ? 'forbidden' : 'wrong_key';
}

/** What the operator has to mend at a provider; null for nothing. */
function problemOf(name: string, state: ProviderState, last?: ProviderFailure): string | null {
  const answer = last?.status ? ` (status ${last.status})` : '';
  const setting = `providers.${name}.apiKey`;
  switch (state) {
    case 'wrong_key':
      return `the provider ${name} does not accept the gateway's key${answer}: set another ${setting}`;
    case 'forbidden':
      return `the provider ${name} refuses the gateway's key the model or the request${answer}: check what ${setting} may use`;
    case 'no_credit':
      return `the gateway's account at the provider ${name} has no credit left${answer}`;
    default:
      return null;
  }
}

function modelRecord(
  [id, { type, aliases = [], routes }]: [string, Config['models'][string]],
  cooldowns: CurrentCooldowns['routes'],
): v.InferOutput<typeof modelShape> {
  return {
    id,
    type,
    aliases: [...aliases],
    routes: routes.map(({ provider, model }) => {
      const found = cooldowns.find(
        (one) => one.provider === provider && matchesPattern(model, one.model),
      );
      return {
        provider,
        model,
        resting: found ? { reason: found.reason, until: found.until } : null,
      };
    }),
  };
}

function providerRecord(
  [name, provider]: [string, Provider],
  attempts: ProviderAttempts,
  cooldowns: CurrentCooldowns,
): v.InferOutput<typeof providerShape> {
  const state = stateOf(attempts);
  return {
    name,
    kind: provider.kind,
    state,
    problem: problemOf(name, state, attempts.failures[0]),
    keys: keysOf(provider).length,
    resting_keys: cooldowns.keys
      .filter((one) => one.provider === name)
      .map(({ provider: _, ...key }) => key),
    attempts: attempts.attempts,
    last_success: attempts.lastSuccess === null ? null : seconds(attempts.lastSuccess),
    failures: attempts.failures.map(({ at, ...failure }) => ({ at: seconds(at), ...failure })),
  };
}

/** The models with their routes, and the providers with their last failures. */
export function ownerModelRoute(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/admin/models',
    tag: 'Administration',
    summary: 'Models, routes and providers with their health; for keys of the account owner',
    answer: catalogShape,
    handler: async () => {
      const { models, providers } = context.config;
      const cooldowns = currentCooldowns(context);
      return {
        object: 'catalog' as const,
        models: Object.entries(models).map((entry) => modelRecord(entry, cooldowns.routes)),
        providers: Object.entries(providers).map((entry) =>
          providerRecord(entry, context.providerHealth.of(entry[0]), cooldowns),
        ),
      };
    },
  });
}
