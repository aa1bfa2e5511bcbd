/** Environment variables, in the shape of process.env. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PIECE = /\$\$\{|\$\{([^{}]*)\}|\$\{/g;
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/**
 * Replaces environment variables in a text: `${NAME}`, or `${NAME:-default}` with a default for one that
 * is not set or empty. `$${` becomes `${`; any other `$` stays.
 */
export function interpolate(text: string, env: Environment) {
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
    // Own properties only: `toString` is no variable.
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (preset !== undefined) return value || preset;
    if (value === undefined) missing.push(name);
    return value ?? '';
  });
  return { text: result, variables, missing, malformed };
}
