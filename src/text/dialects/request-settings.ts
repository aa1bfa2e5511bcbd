import { isObject } from '../../schema/untrusted.ts';
import type { Json, RequestSetting, TextRequest } from '../canonical/canonical.ts';
import type { SettingNames } from './field-table.ts';
import { dialectNamed } from './registry.ts';

/** The properties at the top of a body that hold a setting. */
export function propertiesOf(settings: SettingNames, setting: RequestSetting): readonly string[] {
  return (settings[setting] ?? []).map((path) => path.split('.')[0]!);
}

/** The path at which the client wrote a setting; the dialect's preferred path where it wrote none. */
export function pathOf({ dialect, body }: TextRequest, setting: RequestSetting): string {
  const paths = dialectNamed(dialect).settings[setting] ?? [setting];
  return paths.find((path) => isGiven(body, path.split('.'))) ?? paths[0]!;
}

function isGiven(body: Json, [key = '', ...rest]: readonly string[]): boolean {
  const value = body[key];
  if (rest.length === 0 || typeof value !== 'object' || value === null) {
    return value !== undefined && value !== null;
  }
  return isGiven(value as Json, rest);
}

/** The value at a path of property names; undefined for none. */
export function valueAt(body: Json, [key = '', ...rest]: readonly string[]): unknown {
  const value = body[key];
  if (rest.length === 0) return value;
  return isObject(value) ? valueAt(value, rest) : undefined;
}
