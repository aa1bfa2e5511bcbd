import { Empty } from '../../components/states.tsx';

export default function Models() {
  return (
    <>
      <h1>Models &amp; routes</h1>
      <Empty title="Not here yet" />
    </>
  );
}
