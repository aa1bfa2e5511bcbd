import { type CodeOf, Failure } from '../../failure.ts';
import type { DialectName, NativePart, RequestSetting, TextRequest } from '../canonical.ts';
import { dialectNamed } from './registry.ts';
import { pathOf } from './request-settings.ts';

/** The failure of a request with an invalid field. */
export function invalid(param: string, message: string, code?: CodeOf<'invalid_request'>): Failure {
  return new Failure('invalid_request', `${param}: ${message}`, {
    param,
    ...(code !== undefined && { code }),
  });
}

/** The failure of a request with a field that the upstream's dialect cannot express. */
export function untranslatable(param: string, target: DialectName, why?: string): Failure {
  const reason =
    why ?? `the upstream of this model speaks ${dialectNamed(target).label}, which cannot say this`;
  return invalid(param, reason, 'not_supported_by_model');
}

/** Refuses a part that belongs to another dialect. */
export function refuseNative({ path }: NativePart, target: DialectName): never {
  throw untranslatable(path, target);
}

/** Refuses settings that the target's dialect has not. */
export function refuseSettings(
  request: TextRequest,
  target: DialectName,
  settings: readonly RequestSetting[],
): void {
  const refused = settings.find((setting) => request[setting] !== null);
  if (refused !== undefined) throw untranslatable(pathOf(request, refused), target);
}

/** Refuses settings that the target has not, unless their value equals their absence. */
export function refuseUnlessDefault(
  request: TextRequest,
  target: DialectName,
  settings: readonly RequestSetting[],
): void {
  refuseSettings(
    request,
    target,
    settings.filter((setting) => !isDefault(setting, request[setting])),
  );
}

function isDefault(setting: RequestSetting, value: unknown): boolean {
  if (setting === 'n') return value === 1;
  if (setting === 'verbosity') return value === 'medium';
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === 0 || value === false;
}
