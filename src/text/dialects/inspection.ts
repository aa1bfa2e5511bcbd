import { isObject } from '../../schema/untrusted.ts';
import type { Feature } from '../../store/features.ts';
import { FILE_SCHEME } from '../canonical.ts';

/** A feature in a request that its model or its key must allow. */
export interface Use {
  readonly path: string;
  readonly feature: Feature;
  /** The identifier of a stored object at the provider; null where the request names none. */
  readonly id: string | null;
}

/** A property that no allow-list names. */
interface Unknown {
  readonly path: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly name: string;
}

/** Features, addresses and unknown properties of a request, beyond what is metered by tokens and stateless. */
export class Inspection {
  readonly uses: Use[] = [];
  /** Addresses that the provider would fetch. */
  readonly addresses: { readonly path: string; readonly url: string }[] = [];
  readonly unknown: Unknown[] = [];
  /** The path of the value that is inspected; formatted only where something is found. */
  readonly #place: (string | number)[] = [];

  /** Inspects a property or an item of the current value. */
  within(key: string | number, check: Check, value: unknown): void {
    this.#place.push(key);
    check(value, this);
    this.#place.pop();
  }

  use(feature: Feature, id: string | null = null): void {
    this.uses.push({ path: this.#path(), feature, id });
  }

  /** Forgets what was found at paths that are left out of the request. */
  forget(isLeftOut: (path: string) => boolean): void {
    const left = this.uses.filter(({ path }) => !isLeftOut(path));
    this.uses.splice(0, this.uses.length, ...left);
  }

  address(url: string): void {
    this.addresses.push({ path: this.#path(), url });
  }

  /** A property of the current value that no allow-list names. */
  unnamed(object: Unknown['object'], name: string): void {
    this.#place.push(name);
    this.unknown.push({ path: this.#path(), object, name });
    this.#place.pop();
  }

  #path(): string {
    const path = this.#place.reduce<string>((before, key) => {
      return typeof key === 'number' ? `${before}[${key}]` : `${before}.${key}`;
    }, '');
    return path.replace(/^\./, '');
  }
}

/** Inspects one value of a request. */
export type Check = (value: unknown, found: Inspection) => void;

/** Checks of an object's properties by name; null for a property that needs none. */
export type Fields = Readonly<Record<string, Check | null>>;

/** Properties that need no check. */
export function any(...names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, null]));
}

/** Applies a check to a value, or to each value of a list. */
function each(check: Check): Check {
  return (value, found) => {
    if (!Array.isArray(value)) return check(value, found);
    for (let index = 0; index < value.length; index += 1) found.within(index, check, value[index]);
  };
}

/** An object, or a list of them, of which every property is on a list. */
export function object(fields: Fields): Check {
  const checks = new Map(Object.entries(fields));
  return each((value, found) => {
    if (!isObject(value)) return;
    for (const name in value) {
      const check = checks.get(name);
      if (check === null) continue;
      const inner = value[name];
      if (inner === null || inner === undefined) continue;
      if (check === undefined) found.unnamed(value, name);
      else found.within(name, check, inner);
    }
  });
}

/** The date of a tool's version, at the end of its type. */
const VERSION = /_(\d{8}|\d{4}_\d{2}_\d{2})$/;

/**
 * An object, or a list of them, with a check for each value of its `type`, null for none. A type that
 * is not on the list is allowed with the feature `unknown`.
 *
 * @param usual the type of an object that names none
 */
export function byType(checks: Fields, usual?: string): Check {
  const known = new Map(Object.entries(checks));
  return each((value, found) => {
    if (!isObject(value)) return;
    const type = String(value['type'] ?? usual);
    let check = known.get(type);
    if (check === undefined) check = known.get(type.replace(VERSION, ''));
    if (check === undefined) found.use('unknown');
    else if (check !== null) check(value, found);
  });
}

/** Allowed where a model or a key allows the feature; harmless values are allowed everywhere. */
export function feature(name: Feature, ...harmless: readonly unknown[]): Check {
  return (value, found) => {
    if (!harmless.includes(value)) found.use(name);
  };
}

/** Identifiers of things that are stored at the provider: texts, or objects with an `id`. */
export function reference(name: Feature): Check {
  return each((value, found) => {
    const id = isObject(value) ? value['id'] : value;
    found.use(name, typeof id === 'string' ? id : null);
  });
}

export function all(...checks: readonly Check[]): Check {
  return (value, found) => {
    for (const check of checks) check(value, found);
  };
}

/** Data or an address: what has no scheme is Base64. */
export const media: Check = each((value, found) => {
  if (typeof value !== 'string' || !/^[a-z][a-z\d+.-]*:/i.test(value.slice(0, 32))) return;
  address(value, found);
});

/** An address that the provider reads, data within a URL, or a file that it has. */
export const address: Check = (value, found) => {
  if (typeof value !== 'string' || /^data:/i.test(value.slice(0, 5))) return;
  if (value.startsWith(FILE_SCHEME)) found.use('file_id', value);
  else found.address(value);
};

/** Properties of routers and proxies that choose the provider, its address or its key. */
export const ROUTING: Fields = Object.fromEntries(
  [
    'api_base',
    'api_key',
    'api_type',
    'api_version',
    'base_url',
    'billing_policy',
    'custom_llm_provider',
    'deployment_id',
    'extra_body',
    'extra_headers',
    'fallback_credit_token',
    'fallbacks',
    'headers',
    'models',
    'organization',
    'plugins',
    'preset',
    'project',
    'provider',
    'providers',
    'route',
    'user_profile_id',
    'workspace_id',
  ].map((name) => [name, feature('routing')]),
);

/** Sampling and formats of compatible servers, which cost what their tokens cost. */
export const SAMPLING: Fields = any(
  'add_generation_prompt',
  'bad_words',
  'cache_prompt',
  'chat_template_kwargs',
  'continue_final_message',
  'dry_allowed_length',
  'dry_base',
  'dry_multiplier',
  'dry_penalty_last_n',
  'dry_sequence_breakers',
  'dynatemp_exponent',
  'dynatemp_range',
  'enable_thinking',
  'frequency_penalty',
  'grammar',
  'guided_choice',
  'guided_grammar',
  'guided_json',
  'guided_regex',
  'ignore_eos',
  'include_reasoning',
  'include_stop_str_in_output',
  'json_schema',
  'min_p',
  'min_tokens',
  'mirostat',
  'mirostat_eta',
  'mirostat_tau',
  'presence_penalty',
  'prompt_mode',
  'random_seed',
  'reasoning_format',
  'reasoning_split',
  'repeat_last_n',
  'repeat_penalty',
  'repetition_penalty',
  'safe_prompt',
  'skip_special_tokens',
  'spaces_between_special_tokens',
  'stop_token_ids',
  'structured_outputs',
  'thinking_budget',
  'top_a',
  'top_k',
  'transforms',
  'typical_p',
  'xtc_probability',
  'xtc_threshold',
);

/** Labels and hints, which change nothing of what an answer costs. */
export const LABELS: Fields = any(
  'metadata',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'user',
);
