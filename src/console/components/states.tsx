import type { ComponentChildren } from 'preact';
import { ApiError } from '../api/request.ts';
import type { Resource } from '../api/resource.ts';
import { Button } from './button.tsx';

/** Shown while something loads. */
export function Loading({ label = 'Loading' }: { readonly label?: string }) {
  return (
    <p class="loading muted" role="status">
      {label}…
    </p>
  );
}

interface EmptyProps {
  readonly title: string;
  /** What to do so that something stands here. */
  readonly children?: ComponentChildren;
}

/** Shown in place of an empty list. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div class="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
    </div>
  );
}

interface ErrorStateProps {
  readonly error: Error;
  readonly onRetry?: (() => void) | undefined;
}

/** An error as the server states it: message, code, field and the request's identifier. */
export function ErrorState({ error, onRetry }: ErrorStateProps) {
  const { code, param, requestId, retryAfter } =
    error instanceof ApiError ? error : new ApiError(error.message);
  return (
    <div class="notice bad" role="alert">
      <p>{error.message}</p>
      <p class="facts">
        {code && <code>{code}</code>}
        {param && <span>field {param}</span>}
        {retryAfter !== null && <span>retry in {retryAfter} s</span>}
        {requestId && <code title="Finds the request in the log of the server">{requestId}</code>}
      </p>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

interface LoadedProps<Data> {
  readonly resource: Pick<Resource<Data>, 'data' | 'error' | 'reload'>;
  readonly children: (data: Data) => ComponentChildren;
}

/** What was loaded, or the state of loading it. Data stays on screen while it is loaded again. */
export function Loaded<Data>({ resource, children }: LoadedProps<Data>) {
  const { data, error, reload } = resource;
  if (error) return <ErrorState error={error} onRetry={reload} />;
  if (data === undefined) return <Loading />;
  return <>{children(data)}</>;
}
