import type { RefObject } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { Button, CloseButton } from '../../components/button.tsx';
import { useObjectUrl, visible } from '../../components/files.ts';
import { formatBytes, formatPercent } from '../../components/format.ts';
import { coloursOf, summaryOf } from './report.ts';
import { type ImagesStore, type Item, isBusy } from './store.ts';

interface FileListProps {
  readonly store: ImagesStore;
  readonly items: readonly Item[];
  readonly shown: number | null;
  /** Runs the present job over one file again. */
  readonly onRetry: (id: number) => void;
}

/** The files with their progress and results. */
export function FileList({ store, items, shown, onRetry }: FileListProps) {
  const retry = useRef(onRetry);
  retry.current = onRetry;
  return (
    <ul class="panel files" aria-label="Images">
      {items.map((item) => (
        <Row key={item.id} {...{ store, item, retry }} isShown={item.id === shown} />
      ))}
    </ul>
  );
}

interface RowProps extends Pick<FileListProps, 'store'> {
  readonly item: Item;
  readonly isShown: boolean;
  readonly retry: RefObject<FileListProps['onRetry']>;
}

/** A file of the list, which is rendered again only when it changes: there may be a thousand. */
function Row({ store, item, isShown, retry }: RowProps) {
  return useMemo(() => {
    const { id, state, path, file } = item;
    const name = short(item);
    return (
      <li class={isShown ? 'shown' : undefined}>
        <Thumbnail file={file} />
        <button type="button" class="pick" aria-current={isShown} onClick={() => store.show(id)}>
          <bdi class="ellipsis">{visible(path)}</bdi>
        </button>
        <Status item={item} />
        <span class="actions">
          {state === 'failed' && (
            <Button kind="quiet" aria-label={`Retry ${name}`} onClick={() => retry.current!(id)}>
              Retry
            </Button>
          )}
          {isBusy(item) ? (
            <Button kind="quiet" aria-label={`Cancel ${name}`} onClick={() => store.cancel(id)}>
              Cancel
            </Button>
          ) : (
            <CloseButton label={`Remove ${name}`} onClick={() => store.remove(id)} />
          )}
        </span>
      </li>
    );
  }, [store, item, isShown]);
}

/** A name for labels, which readers of the screen hear. */
function short(item: Item): string {
  const path = visible(item.path);
  return path.length > 80 ? `${path.slice(0, 60)}…${path.slice(-16)}` : path;
}

function Thumbnail({ file }: { readonly file: File }) {
  const url = useObjectUrl(file);
  const [isBroken, setBroken] = useState(false);
  return (
    <span class="thumbnail raised">
      {url && !isBroken && (
        <img
          class="cover"
          src={url}
          alt=""
          loading="lazy"
          decoding="async"
          onError={() => setBroken(true)}
        />
      )}
    </span>
  );
}

function Status({ item }: { readonly item: Item }) {
  const { state, share, error, result, file } = item;
  if (state === 'waiting') return <span class="row status muted">Waiting</span>;
  if (state === 'working') return <span class="row status muted">Working…</span>;
  if (state === 'sending') {
    return (
      <span class="row status">
        <progress value={share} max={1} aria-label={`Uploading ${short(item)}`} />
      </span>
    );
  }
  if (error) {
    return (
      <span class="row status failed">
        <span class="clamped">
          <span class="badge bad">Failed</span> {error.message}
        </span>
      </span>
    );
  }
  if (!result) return <span class="row status muted">{formatBytes(file.size)}</span>;
  const { outputs, record } = result;
  if (outputs.length > 0) {
    const size = outputs.reduce((sum, output) => sum + output.size, 0);
    return (
      <span class="row status">
        {formatBytes(file.size)} → {outputs.length > 1 && `${outputs.length} images, `}
        {formatBytes(size)}{' '}
        <span class={`badge ${size < file.size ? 'good' : ''}`}>{changeText(file.size, size)}</span>
        {record.warnings && <span class="badge warn">{warningsText(record.warnings.length)}</span>}
      </span>
    );
  }
  const data = record.data ?? {};
  const colours = coloursOf(data);
  return (
    <span class="row status">
      {colours ? (
        <span class="strip">
          {colours.map(({ hex }) => (
            <span key={hex} class="colour" style={{ backgroundColor: hex }} />
          ))}
        </span>
      ) : (
        <code class="ellipsis">{summaryOf(data)}</code>
      )}
    </span>
  );
}

/** A change of size: `72 % smaller`. */
export function changeText(before: number, after: number): string {
  if (before === after || before === 0) return 'same size';
  const share = Math.abs(after - before) / before;
  return `${formatPercent(share)} ${after < before ? 'smaller' : 'larger'}`;
}

const warningsText = (count: number): string => (count === 1 ? '1 warning' : `${count} warnings`);
