/** The environment, as process.env has it. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Interpolated {
  readonly text: string;
  /** Variables that were asked for, whether or not they are set. */
  readonly variables: readonly string[];
  /** Variables that are not set, and for which the text gives no default. */
  readonly missing: readonly string[];
  /** Whether something begins like a variable and is none. */
  readonly malformed: boolean;
}

const PIECE = /\$\$\{|\$\{([^{}]*)\}|\$\{/g;
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/**
 * Puts variables of the environment into a text: `${NAME}`, or `${NAME:-default}` for one that is
 * not set or empty. `$${` stands for `${` itself; any other `$` for itself.
 */
export function interpolate(text: string, env: Environment): Interpolated {
  const variables: string[] = [];
  const missing: string[] = [];
  let malformed = false;
  const result = text.replace(PIECE, (piece, inside: string | undefined) => {
    if (piece === '$${') return '${';
    const [, name, preset] = VARIABLE.exec(inside ?? '') ?? [];
    if (name === undefined) {
      malformed = true;
      return piece;
    }
    variables.push(name);
    // An object's inherited properties are not in the environment.
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (preset !== undefined) return value || preset;
    if (value === undefined) missing.push(name);
    return value ?? '';
  });
  return { text: result, variables, missing, malformed };
}
