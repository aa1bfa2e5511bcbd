import { Empty } from '../../components/states.tsx';

export default function Images() {
  return (
    <>
      <h1>Images</h1>
      <Empty title="Not here yet" />
    </>
  );
}
